"""The error rates of an eval's judge."""
