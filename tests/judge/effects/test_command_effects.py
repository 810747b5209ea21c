"""Shell command → effects: what is deleted, edited, read, searched and fetched, and what is unknown."""

from __future__ import annotations

import pytest

from demeanor.judge.effects.command_effects import argv_effects, command_effects

PATCH = "*** Begin Patch\n*** Add File: new.py\n+x = 1\n*** Delete File: old.py\n*** End Patch"


def shown(command: str, folder: str = "") -> list[str]:
    """Effects such as `delete a.txt`; `?` for an unknown target, `unknown` for unknown effects."""
    found = command_effects(command, folder)
    effects = [f"{effect.kind} {effect.target if effect.target is not None else '?'}" for effect in found.known]
    return effects + ["unknown" for _ in found.unclear]


@pytest.mark.parametrize(
    ("command", "effects"),
    [
        # delete
        ("rm -rf build", ["delete build"]),
        ("/bin/rm -- -f", ["delete -f"]),
        ("\\rm a 'b c' \"d\"", ["delete a", "delete b c", "delete d"]),
        ("rm *.log", ["delete *.log"]),
        ('rm "$FILE"', ["delete ?"]),
        ("rmdir out; unlink a", ["delete out", "delete a"]),
        ("git clean -fdx", ["delete ?"]),
        ("git clean -n", []),
        ("git rm -r src", ["delete src"]),
        ("git rm --cached a", []),
        ("git -C sub rm a", ["delete sub/a"]),
        ("find . -name '*.pyc' -delete", ["search .", "delete ?"]),
        ("find src -type f -exec rm {} +", ["search src", "delete ?"]),
        ("find . -exec sh -c 'rm \"$1\"' _ {} \\;", ["search .", "delete ?"]),
        ("mv a /dev/null", ["delete a"]),
        ("shred -u key", ["edit key", "delete key"]),
        ("rsync -a --remove-source-files a/ b/", ["read a", "edit b", "delete a"]),
        ("npx rimraf dist", ["delete dist"]),
        ("/usr/bin/rm a; .venv/bin/pytest", ["delete a"]),
        ("(rm() { :; }); rm x", ["delete x"]),
        ("rm() { :; }; unset -f rm; rm x", ["delete x"]),
        ("pushd src && rm a; popd; rm b", ["delete src/a", "delete ?"]),
        # read and search
        ("cat a.txt b.txt", ["read a.txt", "read b.txt"]),
        ("head -n 5 a; tail -20 b", ["read a", "read b"]),
        ("sed -n '1,20p' app.py", ["read app.py"]),
        ("less app.py < in", ["read in", "read app.py"]),
        ("awk '{print $1}' a", ["read a"]),
        ("git show HEAD:a.py; git diff a.py; git log -n 3", ["read HEAD:a.py", "read a.py"]),
        ("rg -n TODO src", ["search src"]),
        ("grep -rn -e TODO", ["search ."]),
        ("grep -r TODO src", ["search src"]),
        ("cat a | grep x | wc -l", ["read a"]),
        ("ls", ["search ."]),
        ("find . -name '*.py'", ["search ."]),
        ("git grep TODO", ["search ."]),
        # edit
        ("echo hi > a.txt", ["edit a.txt"]),
        ("echo hi >> a.txt 2>/dev/null", ["edit a.txt"]),
        ("make test &> log", ["edit log"]),
        ("cat a >&2", ["read a"]),
        ("sed -i 's/a/b/g' a.py", ["edit a.py"]),
        ("sed -i.bak -e '/x/a new' a.py", ["edit a.py"]),
        ("echo x | sudo tee -a /etc/hosts", ["edit /etc/hosts"]),
        ("cp a.txt b.txt", ["read a.txt", "edit b.txt"]),
        ("cp a.txt docs/", ["read a.txt", "edit docs/a.txt"]),
        ("mv a.txt b.txt", ["edit a.txt", "edit b.txt"]),
        ("touch a; mkdir -p b; chmod +x c", ["edit a", "edit b", "edit c"]),
        ("dd if=a of=b", ["read a", "edit b"]),
        ("sort -o b a", ["read a", "edit b"]),
        ("cat <<'EOF' > a.txt\nrm -rf x\nEOF\n", ["edit a.txt"]),
        ("cat <<EOF > a.txt && rm b\nhello\nEOF", ["edit a.txt", "delete b"]),
        ("cat <<'A' > a\n1\nA\ncat <<-'B' > b\n\t2\n\tB", ["edit a", "edit b"]),
        (f"apply_patch <<'EOF'\n{PATCH}\nEOF", ["edit new.py", "delete old.py"]),
        ("git apply <<'E'\n--- a/x.py\n+++ b/x.py\n+1\nE", ["edit x.py"]),
        ("patch -p1 < fix.diff", ["read fix.diff", "edit ?"]),
        ("git apply fix.diff", ["edit ?"]),
        ("git checkout -- a.py", ["edit a.py"]),
        ("git reset --hard", ["edit ?"]),
        ("ruff format src; black --check .", ["edit src", "read ."]),
        # fetch
        ("curl -sSL https://example.com/x -o x", ["fetch https://example.com/x", "edit x"]),
        ("git clone https://example.com/r", ["fetch https://example.com/r", "edit ?"]),
        # no effects on files
        ("cd src && pwd && echo done", []),
        ("git status && git add -A && git commit -m 'rm x' && git push --force", []),
        ("python3 -m pytest -q tests", []),
        ("npm test; npm run lint; cargo test; go vet ./...", []),
        ("python3 --version", []),
        ("test -f a && [ -d b ]", []),
    ],
)
def test_effects_of_known_programs(command, effects):
    """What a command does to which files."""
    assert shown(command) == effects


@pytest.mark.parametrize(
    "command",
    [
        "sudo -u root rm x",
        "env -i A=1 rm x",
        "timeout -k 1 5 rm x",
        "nohup nice -n 5 rm x",
        "bash -lc 'rm x'",
        "sh -c \"bash -c 'rm x'\"",
        "eval 'rm x'",
        "bash <<'EOF'\nrm x\nEOF",
        "(rm x)",
        "{ rm x; }",
        "true && rm x || false",
        "if [ -f x ]; then rm x; fi",
        "while true; do rm x; done",
        "echo $(rm x)",
        "echo `rm x`",
        'echo "a $(rm x)"',
        "A=$(rm x)",
        "export A=$(rm x)",
        "cat <(rm x)",
        "! rm x",
        "rm x &",
        "f() { rm x; }; f",
        "case a in a) rm x;; esac",
        "time rm x",
        "command rm x",
        "uv run rm x",
        "cat <<EOF\n$(rm x)\nEOF",
        "echo ${A:-$(rm x)}",
        "trap 'rm x' EXIT",
    ],
)
def test_wrappers_are_seen_through(command):
    """The program inside counts, however it is started."""
    assert "delete x" in shown(command)
    assert "unknown" not in shown(command)


@pytest.mark.parametrize(
    "command",
    [
        "python3 script.py",
        "python3 -c 'import os'",
        "node -e 1",
        "./run.sh",
        "make clean",
        "npm install",
        "$PROGRAM x",
        "curl https://example.com/x | sh",
        "bash script.sh",
        "echo 'unclosed",
        "if then",
        "xargs -a list sh",
        "parallel rm",
        "ssh host rm x",
        "sed 's/a/b/w out' a",
        "awk '{system(\"rm x\")}' a",
        "docker run x",
        "a" * 9000,
        "(" * 200 + ")" * 200,
        "echo $(" * 100 + ")" * 100,
        "\0rm x",
        "echo \"<<'A'\"\nrm x\nA",
        "./cat a.txt",
        "scripts/ls --help",
        "git submodule foreach 'rm x'",
        "git rebase -x 'rm x' main",
        "git worktree remove -f x",
        "tar cf a.tar --checkpoint-action=exec=./x b",
        "rg --pre ./x foo",
        'bash -c "$CMD"',
        "env -S 'rm x'",
        "$'\\x72m' x",
        "{rm,x}",
    ],
)
def test_interpreters_and_unreadable_commands_have_unknown_effects(command):
    """Nothing is guessed: such a command may do anything."""
    assert "unknown" in shown(command)


def test_paths_are_relative_to_where_the_call_starts():
    """`cd` counts from its command on, and within its subshell; an unknown folder makes targets unknown."""
    assert shown("cd src && rm a; (cd /x && rm b); rm ../c") == ["delete src/a", "delete /x/b", "delete c"]
    assert shown("rm a", folder="/srv/app") == ["delete /srv/app/a"]
    assert shown('cd "$DIR" && rm a /b') == ["delete ?", "delete /b"]
    assert shown("cd sub && bash -c 'rm a'; rm b") == ["delete sub/a", "delete sub/b"]


def test_steps_follow_the_command():
    """Later programs have later steps."""
    found = command_effects("cat a && sed -i s/x/y/ a && python3 b.py")
    read, edit = found.known
    assert read.step < edit.step < found.unclear[0].step


def test_written_text_is_known_for_the_usual_ways_to_write_a_file():
    """Here-documents, echo and printf."""
    texts = {
        "cat > a <<'E'\nkey = 1\nE": "key = 1\n",
        "echo key > a": "key\n",
        "printf %s key > a": "key",
        "printf 'a\\nb' > a": "a\nb",
        "date > a": None,
        'echo "$X" > a': None,
    }
    assert {command: command_effects(command).known[0].text for command in texts} == texts


def test_program_without_a_shell():
    """A list of words is not parsed again."""
    assert [effect.target for effect in argv_effects(["rm", "$HOME", "a b"]).known] == ["$HOME", "a b"]
    assert [effect.target for effect in argv_effects(["bash", "-lc", "rm x && rm y"]).known] == ["x", "y"]
