"""`demeanor promote`: list the evals that have earned ALWAYS_PASSES, and change them."""
