"""`demeanor completion`: print a completion script for your shell."""
