"""`demeanor demote`: list the evals that fail too often for ALWAYS_PASSES, and change them."""
