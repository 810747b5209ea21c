"""pass@k, pass^k and flakiness of runs, and the classes of their failures."""
