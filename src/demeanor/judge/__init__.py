"""Evidence → Findings → Verdict: the rig, the checks, and the self-test of evals."""
