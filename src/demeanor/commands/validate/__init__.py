"""`demeanor validate`: prove, without a model, that each eval can pass and can fail."""
