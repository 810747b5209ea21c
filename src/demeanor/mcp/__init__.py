"""MCP servers for agents under test: programs that the agent starts in the sandbox.

`server.py` serves a fixture with the official SDK, after `probe.py` has read the first message; `relay.py` stands
between the agent and a real server program. Both record every call (`record.py`) and inject the faults of the trial.
"""
