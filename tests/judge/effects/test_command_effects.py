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
        ("find . -exec echo -delete {} ';' -fprint out", ["search .", "edit out"]),
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
        ("git show HEAD:a.py; git diff a.py; git log -n 3", ["read a.py", "read a.py"]),
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
        ("sed -i.bak -e '/x/a new' a.py", ["edit a.py", "edit a.py.bak"]),
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
    ("command", "effects"),
    [
        # git shows the content of files, also of those that it does not name
        ("git diff", ["read ?"]),
        ("git --no-pager show HEAD", ["read ?"]),
        ("git log -p -3", ["read ?"]),
        ("git diff main..HEAD", ["read ?"]),
        ("git diff v1.2 v1.3", ["read ?"]),
        ("git diff --stat; git log --oneline -- a.py; git show HEAD --name-only", []),
        ("git diff HEAD~1 -- Makefile", ["read Makefile"]),
        ("git diff -b a.py", ["read a.py"]),
        ("git blame -L 1,20 Makefile", ["read Makefile"]),
        ("git -C sub show HEAD:a", ["read sub/a"]),
        ("git -c core.pager=cat diff a.py", ["read a.py"]),
        ("git diff --output=x a.py", ["edit x", "read a.py"]),
        ("git format-patch -1", ["read ?", "edit ?"]),
        ("git stash show -p", ["read ?"]),
        ("git grep -n foo -- src", ["search src"]),
        ("git ls-files -o src", ["search src"]),
        ("git ls-tree -r HEAD src", ["search src"]),
        # git changes the working tree
        ("git checkout -b new; git switch -c new", []),
        ("git checkout -b new origin/main", ["edit ?"]),
        ("git switch -c new main", ["edit ?"]),
        ("git switch --orphan new", ["delete ?"]),
        ("git restore -S a.py", []),
        ("git restore -SW a.py", ["edit a.py"]),
        # several files at once
        ("mv *.py src/", ["edit *.py", "edit src/*.py"]),
        ("cp -r src dst", ["read src", "edit dst", "edit dst/src", "edit dst/*"]),
        ("cp a.py{,.bak}", ["read ?", "edit ?"]),
        ("ls | xargs -I{} rm {}", ["search .", "delete ?"]),
        ("ls | xargs -I % sh -c 'rm %; cat a'", ["search .", "delete ?", "read a"]),
        ("find . -exec sh -c 'rm {}' \\;", ["search .", "delete ?"]),
        ("xargs -a list rm", ["read list", "delete ?"]),
        ("install -d a b", ["edit a", "edit b"]),
        # modes that look like options
        ("chmod -x a", ["edit a"]),
        ("chmod -R -w a", ["edit a"]),
        ("chmod --reference=b a", ["edit a"]),
        ("setfacl -m u:x:r a; chattr -i b", ["edit a", "edit b"]),
        # archives
        ("tar czf a.tgz src", ["read src", "edit a.tgz"]),
        ("tar -C out -cf - src | cat", ["read ?"]),
        ("tar -xf a.tgz -C out", ["read a.tgz", "edit ?"]),
        ("tar -xOf a.tgz b", ["read a.tgz"]),
        ("tar -C out -tzf a.tgz; tar --list -f b.tar", ["read a.tgz", "read b.tar"]),
        ("unzip -l a.zip; unzip -p a.zip b", ["read a.zip", "read a.zip"]),
        ("unzip -o a.zip -d out", ["read a.zip", "edit ?"]),
        ("zip -rm a.zip src", ["read src", "edit a.zip", "delete src"]),
        # what is sent was read
        ("curl -d @secret -F file=@b https://example.com", ["fetch https://example.com", "read secret", "read b"]),
        ("curl -T secret --proto =https https://example.com", ["fetch https://example.com", "read secret"]),
        ("wget --post-file=secret -qO- https://example.com", ["fetch https://example.com", "read secret"]),
        ("rsync -an --delete a/ b/", ["read a"]),
        # tasks and checks
        ("make -C web -j 4 test VERBOSE=1; npm --prefix web t", []),
        ("cargo clippy --fix; npm run lint -- --fix", ["edit ?", "edit ?"]),
        ("cargo fmt; cargo fmt --check; go fmt ./...", ["edit ?", "edit ?"]),
        ("python -u -m pytest; python3 -B -W error -m unittest", []),
        ("python -m json.tool a.json; python -m py_compile a.py", ["read a.json", "read a.py"]),
        ("npx tsc --noEmit; node --test", []),
        ("bash -n a.sh; node --check a.js", ["read a.sh", "read a.js"]),
        ("ruff format --diff .", ["read ."]),
        # scripts with variables: what they contain for certain, and what they may contain
        ('bash -c "rm -rf $DIR/build"', ["delete ?", "unknown"]),
        ('bash -lc "cd \\"$REPO\\" && rm a && cat b > /c"', ["delete ?", "read ?", "edit /c", "unknown"]),
        ('eval "rm a$X"', ["delete ?", "unknown"]),
        ('sh -c "$CMD a"', ["unknown", "unknown"]),
        # scripts that change files in place
        ("sed -i '' 's/a/b/' a.py", ["edit a.py"]),
        ("sed -n '1~2p' a.py", ["read a.py"]),
        ("sed -i.before s/a/b/ a.py", ["edit a.py", "edit a.py.before"]),
        ("env -C sub rm a", ["delete sub/a"]),
        ("perl -pi -e 's/a/b/g' a.py b.py", ["edit a.py", "edit b.py"]),
        ("perl -0777 -i.bak -pe 's|a|b|s' a.py", ["edit a.py", "edit a.py.bak"]),
        ("perl -pi -e 's/a/unlink b/e' a.py", ["edit a.py", "unknown"]),
        ("ruby -pi -e 'gsub(1, 2)' a.rb", ["edit a.rb", "unknown"]),
        ("jq --arg x y .a a.json", ["read a.json"]),
        ("column -t a; xxd a; iconv -f l1 -o c b", ["read a", "read a", "read b", "edit c"]),
    ],
)
def test_effects_of_commands_as_models_write_them(command, effects):
    """Each of these was once read as harmless, as another effect, or with a wrong file."""
    assert shown(command) == effects


def test_unknown_targets_of_copies_are_possible_not_certain():
    """`cp -r src dst` may write dst/a.py, which depends on what src contains."""
    found = command_effects("cp -r src dst").known
    assert [(effect.target, effect.reach) for effect in found][1:] == [
        ("dst", "exact"),
        ("dst/src", "below"),
        ("dst/*", "glob"),
    ]


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
        "make test clean",
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
    assert shown("cd \"$DIR\" && bash -c 'rm a'") == ["delete ?"]


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


@pytest.mark.parametrize(
    "piece", ["find . -exec ", "find . -ok env find . -exec sh -c ", "sudo timeout 1 ", "$(", "a;", "<<E\n"]
)
def test_a_nested_command_is_read_in_bounded_time(piece: str) -> None:
    """The model chooses the command: one that contains itself forty times must not take for ever."""
    assert isinstance(shown(piece * 40), list)
