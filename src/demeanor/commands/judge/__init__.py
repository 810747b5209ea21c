"""`demeanor judge`: measure the error rates of an eval's judge."""
