"""The values that packages exchange, and their ports."""
