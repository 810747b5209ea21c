"""`demeanor schema`: print a JSON schema."""
