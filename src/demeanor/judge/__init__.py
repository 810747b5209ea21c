"""Evidence → Findings → Verdict: the rig that checks see, the answers, and the evals' own self-test."""
