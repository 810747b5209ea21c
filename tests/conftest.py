"""What holds for all tests: property tests draw the same examples each time, and a busy machine fails none of them."""

from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")
