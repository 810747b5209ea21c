"""Pure mathematics, one idea per file. It knows numbers only: no evals, no verdicts."""
