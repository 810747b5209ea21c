from tests.commands.conftest import golden

__all__ = ["golden"]
