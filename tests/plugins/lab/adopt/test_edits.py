"""What calls make of files, from their arguments alone."""

from __future__ import annotations

import pytest

from demeanor.core.values.trajectory import Called, kind_of
from demeanor.judge.effects.call_effects import call_facts
from demeanor.plugins.lab.adopt.edits import MISMATCH, UNKNOWN, Content, file_changes

_BEFORE = {"a.py": b"one\ntwo\none\n", "b.py": b"x\n"}
_PATCH = """*** Begin Patch
*** Update File: a.py
@@
 one
-two
+2
*** Add File: new.py
+hello
*** Delete File: b.py
*** End Patch"""


def changes(tool: str, **arguments: object) -> dict[str, Content]:
    call = Called(turn=1, id="1", tool=tool, kind=kind_of(tool), arguments=arguments)
    return dict(file_changes(call, call_facts(call, {}, lambda path: path in _BEFORE), _BEFORE.get))


@pytest.mark.parametrize(
    ("tool", "arguments", "found"),
    [
        ("Write", {"file_path": "n.py", "content": "hi\n"}, {"n.py": b"hi\n"}),
        ("Edit", {"file_path": "a.py", "old_string": "one", "new_string": "1"}, {"a.py": b"1\ntwo\none\n"}),
        ("edit", {"path": "a.py", "old": "one", "new": "1", "replaceAll": True}, {"a.py": b"1\ntwo\n1\n"}),
        ("replace", {"file_path": "a.py", "old_string": "two\n", "new_string": ""}, {"a.py": b"one\none\n"}),
        ("replace", {"file_path": "n.py", "old_string": "", "new_string": "hi\n"}, {"n.py": b"hi\n"}),
        ("Edit", {"file_path": "a.py", "old_string": "three", "new_string": "3"}, {"a.py": MISMATCH}),
        ("file_editor", {"command": "insert", "path": "a.py", "new_str": "x"}, {"a.py": UNKNOWN}),
        ("apply_patch", {"input": _PATCH}, {"a.py": b"one\n2\none\n", "new.py": b"hello\n", "b.py": None}),
        ("delete_file", {"path": "b.py"}, {"b.py": None}),
        ("bash", {"command": "rm a.py && ls"}, {"a.py": None}),
        ("bash", {"command": "echo hi > n.txt"}, {"n.txt": b"hi\n"}),
        ("bash", {"command": "echo more >> a.py"}, {"a.py": UNKNOWN}),
        ("bash", {"command": "ls"}, {}),
        ("read_file", {"path": "a.py"}, {}),
    ],
)
def test_the_new_content_is_known_or_said_to_be_unknown(tool: str, arguments: dict[str, object], found: object):
    """A guess would be a wrong starting file, or a wrong behaviour."""
    assert changes(tool, **arguments) == found
