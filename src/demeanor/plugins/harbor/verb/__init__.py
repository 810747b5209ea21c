"""`demeanor harbor`: show or install Harbor, which runs whole tasks."""
