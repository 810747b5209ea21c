"""The coding agents, one module each with its `RECIPE`: how it is started, and how its log is read."""
