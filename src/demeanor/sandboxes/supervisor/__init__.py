"""The programs that run beside and inside a sandbox: fork server, supervisors, set-up. Standard library only."""
