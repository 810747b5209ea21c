"""`demeanor export`: write a run for other tools, or an eval as a Harbor task."""
