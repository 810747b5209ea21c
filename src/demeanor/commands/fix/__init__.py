"""`demeanor fix`: let an agent mend what an eval shows to be broken, and prove it."""
