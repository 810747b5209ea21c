"""The isolation levels, one module for each value of `--sandbox`."""
