"""One file per provider API."""
