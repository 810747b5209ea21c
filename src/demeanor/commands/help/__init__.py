"""`demeanor help`: read the documentation, errors, schemas and all options; print a completion script."""
