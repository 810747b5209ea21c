"""Coding agents: how each is started, how its log is read, and the programs that Demeanor brings along."""
