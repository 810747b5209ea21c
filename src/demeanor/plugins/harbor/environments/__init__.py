"""Where tasks run: the choice, and what bubblewrap needs to know of a task and its base image."""
