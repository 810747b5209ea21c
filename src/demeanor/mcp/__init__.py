"""MCP servers for agents under test: programs that run in the sandbox.

`server.py` serves a fixture with the official SDK, after `probe.py` has read the first message; `relay.py` stands
between the agent and a real server program. Both record every call (`record.py`) and inject the faults of the trial.
The agent starts its servers itself, unless it reaches them over HTTP: `http_launch.py` starts those before the agent,
and `http_relay.py` stands between the agent and a real program.
"""
