"""`holdfast report`: show a night and the nights before it."""
