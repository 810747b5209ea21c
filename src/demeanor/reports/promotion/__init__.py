"""Which evals are ready for another policy, and what the others still need."""
