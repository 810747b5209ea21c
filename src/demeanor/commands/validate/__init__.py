"""`demeanor validate`: check, without a model, that each eval can pass and can fail."""
