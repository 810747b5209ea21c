"""Dockerfiles, as far as they can be replayed without a container engine: text → instructions → steps. Pure."""
