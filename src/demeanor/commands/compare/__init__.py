"""`demeanor compare`: compare two versions: is one worse than the other?."""
