"""`demeanor export`: write a run of the history for other tools."""
