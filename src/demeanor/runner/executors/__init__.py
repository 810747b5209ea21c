"""Where attempts run."""
