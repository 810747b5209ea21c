"""What a tool call does: its kinds with their targets, read from its arguments and its shell command. Pure."""
