"""`demeanor contract`: check the wire formats of the model APIs, without a model."""
