"""What Harbor imports: `--env demeanor.harbor_env:BubblewrapEnvironment`, `-a demeanor.harbor_env:NativeAgent`.

Harbor runs a task's commands in an environment, usually a container. This environment needs only bubblewrap:
docs/harbor.md says what it guarantees, and what it refuses.
"""

from demeanor.harbor_env.agent import NativeAgent
from demeanor.harbor_env.environment import BubblewrapEnvironment

__all__ = ["BubblewrapEnvironment", "NativeAgent"]
