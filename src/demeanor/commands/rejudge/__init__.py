"""`demeanor rejudge`: judge what was kept again, without agent or model."""
