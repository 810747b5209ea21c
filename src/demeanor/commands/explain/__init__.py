"""`demeanor explain`: explain an error, a void cause or an exit code."""
