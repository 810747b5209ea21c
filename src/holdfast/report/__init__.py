"""Verdicts → tallies → one RunReport value; and from that value the terminal, markdown, JSON and JUnit."""
