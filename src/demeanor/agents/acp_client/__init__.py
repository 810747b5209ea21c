"""A client of the Agent Client Protocol: a separate program that runs in the sandbox and starts the agent.

It reads a task file, sends the prompts turn by turn, answers the agent's requests by the eval's `approval`, and prints
the agent's updates as events, one per line. Apart from demeanor.core.values.approval it uses the standard library only.
"""
