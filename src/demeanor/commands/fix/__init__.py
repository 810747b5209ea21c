"""`demeanor fix`: let an agent fix what an eval shows to be broken, and verify the fix."""
