"""The values, ports and errors that every room speaks; standard library only."""
