"""What Harbor imports: `--env demeanor.harbor_env:BubblewrapEnvironment`, `-a demeanor.harbor_env:NativeAgent`.

Harbor runs a task's commands in an environment, and wants a container engine for that. This one needs bubblewrap only:
see docs/harbor.md for what it promises, and for what it refuses.
"""

from demeanor.harbor_env.agent import NativeAgent
from demeanor.harbor_env.environment import BubblewrapEnvironment

__all__ = ["BubblewrapEnvironment", "NativeAgent"]
