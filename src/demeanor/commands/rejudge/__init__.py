"""`demeanor rejudge`: judge stored captures again, without agent or model."""
