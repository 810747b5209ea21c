"""What a stream of each dialect must have, one module for each: problems, and differences that clients tolerate."""
