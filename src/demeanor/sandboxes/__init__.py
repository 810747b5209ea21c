"""Isolates agents from the host, as far as each level guarantees."""
