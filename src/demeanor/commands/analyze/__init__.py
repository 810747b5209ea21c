"""`demeanor analyze`: reckon pass@k, pass^k and flakiness of runs, and sort their failures."""
