"""`demeanor import`: bring results that other tools or machines have kept into the history."""
