"""Git: worktrees, commit ranges and patches."""
