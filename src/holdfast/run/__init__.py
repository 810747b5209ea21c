"""Trial → Capture: the only stage that costs money."""
