"""What Harbor imports into its own process: an environment on bubblewrap, and our native agent.

`harbor run --env demeanor.plugins.harbor.inside:BubblewrapEnvironment -a demeanor.plugins.harbor.inside:NativeAgent`.

Harbor runs a task's commands in an environment, usually a container. This environment needs only bubblewrap:
docs/harbor.md says what it guarantees, and what it refuses.
"""

from demeanor.plugins.harbor.inside.agent import NativeAgent
from demeanor.plugins.harbor.inside.environment import BubblewrapEnvironment

__all__ = ["BubblewrapEnvironment", "NativeAgent"]
