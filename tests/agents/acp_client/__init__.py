"""The client of the Agent Client Protocol."""
