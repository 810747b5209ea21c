"""`demeanor import`: add results of other tools or machines to the history."""
