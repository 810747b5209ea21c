from __future__ import annotations

from pathlib import Path

import pytest

from demeanor.core.values.errors import BadInput
from demeanor.core.values.record import Record
from demeanor.core.values.verdict import Fail, Finding, Pass, Verdict, Void, VoidCause
from demeanor.reports.metrics.classify import CATEGORIES, UNCLASSIFIED, by_category, classify
from demeanor.reports.metrics.pattern_file import Pattern, read_patterns

FILE = """\
# patterns of a team
version: "1.0"

patterns:
  # transient ones
  - name: "throttled"
    pattern: "429|too.?many.?requests"
    category: "transient"
    description: "the provider asks to wait"

  - name: "lost_signature"
    pattern: "missing.*(?<what>signature)"
    category: "provider_bug"
    issue: "https://example.com/issues/1"
    description: "a signature was lost"
"""


@pytest.fixture
def patterns(tmp_path: Path) -> tuple[Pattern, ...]:
    (tmp_path / "patterns.yaml").write_text(FILE)
    return read_patterns(tmp_path / "patterns.yaml")


def record(verdict: Verdict, **more: str) -> Record:
    return Record(eval="e", subject="a:m", number=1, attempt=1, verdict=verdict, **more)


def fail(reason: str, check: str = "file exists") -> Fail:
    return Fail(findings=(Finding(check=check, answer="no", reason=reason),))


def test_a_pass_is_not_classified() -> None:
    """There is nothing to classify."""
    assert classify(record(Pass())) is None


@pytest.mark.parametrize("cause", VoidCause)
def test_a_void_is_classified_by_its_cause(cause: VoidCause, patterns: tuple[Pattern, ...]) -> None:
    """Whatever its text looks like: the cause is a fact. Every cause has a category."""
    found = classify(record(Void(cause=cause, detail="HTTP 429: too many requests")), patterns)
    assert found is not None
    assert (found.first.name, found.first.category, found.first.basis) == (cause.value, CATEGORIES[cause], "void")
    assert [one.name for one in found.classes[1:]] == ["throttled"]


def test_a_failure_is_classified_by_its_checks_and_the_agents_exit_comes_first() -> None:
    """A crash explains a missing file, not the other way round."""
    findings = (
        Finding(check="file exists", answer="no", reason="there is no 'a.txt'"),
        Finding(check="said hello", answer="yes"),
        Finding(check="agent", answer="no", reason="ran out of its time (60 s)"),
    )
    found = classify(record(Fail(findings=findings)))
    assert found is not None
    assert [(one.name, one.category) for one in found.classes] == [
        ("agent", "agent_error"),
        ("file exists", "behaviour"),
    ]


def test_patterns_add_classes_and_decide_if_there_are_no_facts(patterns: tuple[Pattern, ...]) -> None:
    """An imported failure has no findings; its error output is searched."""
    found = classify(record(Fail(), stderr="Error: request is Missing a thought SIGNATURE\n"), patterns)
    assert found is not None
    assert (found.first.name, found.first.basis) == ("lost_signature", "pattern")
    assert found.first.issue == "https://example.com/issues/1"
    assert "thought SIGNATURE" in found.first.excerpt


def test_other_failures_are_unclassified_and_shown(patterns: tuple[Pattern, ...]) -> None:
    """Even if there are none: zero is shown."""
    found = classify(record(Fail(), stderr="who knows"), patterns)
    assert found is not None
    assert found.first.name == UNCLASSIFIED
    checked = classify(record(fail("does not exist")), patterns)
    assert checked is not None
    assert by_category([found, checked, checked]) == {"behaviour": 2, UNCLASSIFIED: 1}
    assert by_category([]) == {UNCLASSIFIED: 0}


def test_a_number_does_not_match_inside_a_longer_one(patterns: tuple[Pattern, ...]) -> None:
    """14291 does not match 429, but a 429 after it does."""
    for text, name in (
        ("used 14291 tokens", UNCLASSIFIED),
        ("1429 or 4291", UNCLASSIFIED),
        ("14291 tokens, then 429.", "throttled"),
    ):
        found = classify(record(Fail(), stderr=text), patterns)
        assert found is not None
        assert found.first.name == name


def test_patterns_decide_about_a_trial_of_another_tool(patterns: tuple[Pattern, ...]) -> None:
    """Its report has no facts: the finding only says that it failed. Everything that the agent printed is searched."""
    for text in ({"stdout": "HTTP 429: slow down"}, {"stderr": "HTTP 429: slow down"}):
        found = classify(record(fail("expected true"), **text), patterns, imported=True)
        assert found
        assert (found.first.category, found.first.basis) == ("transient", "pattern")
    other = classify(record(fail("expected true"), stdout="fine"), patterns, imported=True)
    assert other
    assert (other.first.category, other.first.basis) == ("behaviour", "check")


def test_what_the_agent_did_and_printed_is_not_searched(patterns: tuple[Pattern, ...]) -> None:
    """An agent that writes about a 429 did not necessarily get one."""
    found = classify(record(Fail(), stdout="I added a test for 429", chain="write(429.py)"), patterns)
    assert found is not None
    assert found.first.name == UNCLASSIFIED


def test_a_hostile_text_is_made_safe() -> None:
    """Escapes of the terminal don't survive in an excerpt."""
    found = classify(record(Void(cause=VoidCause.PROVIDER, detail="\x1b[31mred\x07")))
    assert found is not None
    assert found.first.excerpt == "red\\x07"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("patterns: [", "is not valid YAML"),
        ("[]", "expected a table"),
        ("version: '2.0'\npatterns: []", "unknown version '2.0'"),
        ("patterns:\n- {name: x, category: y}", r"patterns\[0\].pattern: is required"),
        ("patterns:\n- {name: x, category: y, pattern: '('}", "is not a valid regular expression"),
        ("patterns:\n- {name: x, category: y, pattern: 'a*'}", "matches the empty string"),
        ("patterns:\n- {name: x, category: y, pattern: a, colour: red}", "unknown key"),
        (
            "patterns:\n- {name: x, category: y, pattern: a}\n- {name: x, category: y, pattern: b}",
            r"patterns\[1\].name: 'x' is used twice",
        ),
    ],
)
def test_an_invalid_file_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    """File, key, what is wrong."""
    path = tmp_path / "patterns.yaml"
    path.write_text(text)
    with pytest.raises(BadInput, match=expected):
        read_patterns(path)
    with pytest.raises(BadInput, match="does not exist"):
        read_patterns(tmp_path / "absent.yaml")


def test_a_pattern_that_takes_too_long_is_named(tmp_path: Path) -> None:
    """The agent chooses the text that is searched."""
    (tmp_path / "patterns.yaml").write_text("patterns: [{name: slow, pattern: '(a|aa)+$', category: x}]")
    slow = read_patterns(tmp_path / "patterns.yaml")
    with pytest.raises(BadInput, match=r"pattern 'slow': the regular expression .* takes more than 1 s"):
        classify(record(fail("a" * 400 + "!")), slow)
