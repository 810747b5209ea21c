"""What a fixer's change must not do, told before anything of it is built or tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from demeanor.commands.fix.overfitting import EvalSource, quotations
from demeanor.commands.fix.violations import Refusal, Violation
from demeanor.core.globs import matches
from demeanor.core.tree import Change, Entry


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """Where a fixer may write. All paths are relative to the top of the repository."""

    allowed: tuple[str, ...]
    """Patterns of what may be changed."""

    evals: tuple[str, ...]
    """Patterns of what belongs to evals."""

    protected: tuple[str, ...] = ()
    """Patterns of what may never be changed: the configuration, by which the work is judged."""

    evals_too: bool = False
    """Whether evals may be changed, beside something else."""

    def is_eval(self, path: str) -> bool:
        """Whether a file belongs to an eval."""
        return any(matches(path, pattern) for pattern in self.evals)

    def allows(self, path: str) -> bool:
        """Whether a file may be changed."""
        if any(matches(path, pattern) for pattern in self.protected):
            return False
        return self.evals_too if self.is_eval(path) else any(matches(path, pattern) for pattern in self.allowed)


def refusals(
    changes: Sequence[Change], bounds: Bounds, eval_sources: Iterable[EvalSource], *, is_secret: Callable[[bytes], bool]
) -> tuple[Refusal, ...]:
    """Everything that is wrong with a change; nothing where it may be tried."""
    found = list(_out_of_bounds(changes, bounds))
    if changes and all(bounds.is_eval(change.path) for change in changes) and bounds.evals_too:
        detail = "nothing but evals was changed: whether a behaviour is still wanted is for a person to say"
        found.append(Refusal(foul=Violation.EVAL, path=changes[0].path, detail=detail))
    for change in changes:
        if (
            change.after
            and is_secret(_bytes(change.after))
            and not (change.before and is_secret(_bytes(change.before)))
        ):
            detail = "something that looks like a key was written into it"
            found.append(Refusal(foul=Violation.SECRET, path=change.path, detail=detail))
    eval_sources = list(eval_sources)
    found += [
        one for change in changes if not bounds.is_eval(change.path) for one in _special_cases(change, eval_sources)
    ]
    return tuple(found)


def _out_of_bounds(changes: Sequence[Change], bounds: Bounds) -> Iterator[Refusal]:
    for change in changes:
        if not _plain(change.before) or not _plain(change.after):
            yield Refusal(foul=Violation.LINK, path=change.path, detail=f"what was {change.how} is no plain file")
        elif not bounds.allows(change.path):
            foul = Violation.EVAL if bounds.is_eval(change.path) else Violation.OUTSIDE
            detail = (
                f"{change.how}, and it belongs to an eval" if foul is Violation.EVAL else f"{change.how}, not allowed"
            )
            yield Refusal(foul=foul, path=change.path, detail=detail)


def _special_cases(change: Change, eval_sources: Sequence[EvalSource]) -> Iterator[Refusal]:
    old, new = _text(change.before), _text(change.after)
    for eval_source in eval_sources:
        for quoted in quotations(eval_source, old=old, new=new):
            detail = f"new text quotes the eval {eval_source.eval.name}: {quoted}"
            yield Refusal(foul=Violation.SPECIAL_CASE, path=change.path, detail=detail)


def _plain(entry: Entry | None) -> bool:
    """A file whose content is known, or nothing."""
    return entry is None or (entry.kind == "file" and entry.content is not None)


def _bytes(entry: Entry | None) -> bytes:
    return (entry.read() if entry is not None and entry.kind == "file" else None) or b""


def _text(entry: Entry | None) -> str:
    return _bytes(entry).decode("utf-8", "replace")
