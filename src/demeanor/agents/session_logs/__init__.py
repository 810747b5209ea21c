"""Session files that coding agents write by themselves, read as sessions: one module per agent."""
