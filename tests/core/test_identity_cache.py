"""Results are remembered for the same objects, and never for others that take their place in memory."""

from __future__ import annotations

from demeanor.core.identity_cache import by_identity


def test_a_function_is_called_once_for_the_same_objects() -> None:
    """Equal objects are not the same objects."""
    calls = []

    @by_identity
    def size(items: list[int], more: int = 0) -> int:
        calls.append(items)
        return len(items) + more

    first, equal = [1, 2], [1, 2]
    assert [size(first), size(first), size(equal), size(first, more=1)] == [2, 2, 2, 3]
    assert len(calls) == 3


def test_an_address_that_is_used_again_is_no_hit() -> None:
    """Python reuses the addresses of freed objects."""
    sizes = by_identity(len)
    assert [sizes([0] * number) for number in range(2000)] == list(range(2000))
