"""A run as a folder on disk, and its copy in the history."""
