"""Models that the gateway asks: providers, prices, rate limits."""
