"""Models: providers, the registry of configured models, prices and rate limits."""
