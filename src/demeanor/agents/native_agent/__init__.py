"""The native agent: a small coding agent that is a separate program.

It calls a model through the OpenAI chat API, like any other agent. Apart from demeanor.core.values.approval it uses the
standard library only, so that it can be copied into a container. `python -m demeanor.agents.native_agent --help` shows
its options.
"""
