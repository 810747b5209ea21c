"""The self-test of tasks without a model."""
