"""`demeanor report`: show a night and the nights before it."""
