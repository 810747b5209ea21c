"""`demeanor demote`: list the evals that no longer deserve ALWAYS_PASSES, and change them."""
