"""Statistics, one method per module. Pure functions of numbers; no evals, no verdicts."""
