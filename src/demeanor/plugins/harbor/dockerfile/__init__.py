"""Reads Dockerfiles, as far as they can be run without a container engine: text → instructions → steps. Pure."""
