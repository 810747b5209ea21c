"""The pass rate of one eval over time."""
