"""Find out why: evals from sessions, forks of trials, prompt coverage, bisection."""
