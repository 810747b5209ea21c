"""A client of the Agent Client Protocol: a program of its own that runs beside an agent and talks with it.

It is started in the bench with a task file, starts the agent, prompts it turn by turn, answers its requests by the
eval's approval, and prints what it hears as events, one per line. Standard library only.
"""
