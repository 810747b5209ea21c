"""`demeanor promote`: list the evals that are ready for ALWAYS_PASSES, and change them."""
