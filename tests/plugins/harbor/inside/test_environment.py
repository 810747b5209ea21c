"""The real Harbor with the bubblewrap environment: what a task needs works, and errors are reported."""

from __future__ import annotations

import socket

import pytest

from demeanor.core.values.checks import RewardCheck
from demeanor.core.values.verdict import VoidCause
from demeanor.judge.offline_test import SelfTestFault
from demeanor.plugins.harbor.self_test.complaints import task_complaints
from tests.plugins.harbor.inside.conftest import once
from tests.plugins.harbor.inside.helpers import ENVIRONMENT, HarborProject, HarborTrial, by_task, wait_until

DOCKERFILE = """\
# syntax=docker/dockerfile:1
FROM python:3.12-slim AS base
ARG WHO=world
ENV GREETING="hello $WHO" \\
    PATH=/opt/tool/bin:$PATH
WORKDIR /app
COPY notes.txt tools/ ./
COPY --chmod=755 tools/*.sh /opt/tool/bin/
RUN useradd --create-home bob && chown bob /app && echo "$GREETING" > /usr/local/share/built
RUN ["sh", "-c", "echo exec form > /etc/exec-form"]
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
RUN <<EOF
set -e
echo here > /srv/here
EOF
COPY --chown=bob:bob --chmod=700 tools/greet.sh /home/bob/mine.sh
ENTRYPOINT ["/opt/tool/bin/start.sh", "daemon"]
USER bob
CMD ["python3"]
"""
LOOK = """\
cd /app
ok=1
want() { [ "$1" = "$2" ] || { echo "wanted $2, found $1"; ok=0; }; }
want "$(cat notes.txt)" note
want "$(cat /usr/local/share/built)" "hello world"
want "$(cat /etc/exec-form)" "exec form"
want "$(cat /srv/here)" here
want "$(greet.sh)" "hello world from bob"
want "$(stat -c %U /app)" bob
want "$(stat -c '%U %G %a' /home/bob/mine.sh)" "bob bob 700"
until [ -f /tmp/entered ]; do sleep 0.05; done
want "$(cat /tmp/entered)" "daemon sh -c sleep infinity"
pgrep -f "^sleep infinity" || ok=0
want "$(cat done)" "bob /app"
echo $ok > /logs/verifier/reward.txt
"""
HOSTILE = """\
echo done > /app/done
mkdir -p /logs/artifacts/deep/er
cd /logs/artifacts
ln -s /etc/passwd absolute; ln -s ../../../../../../etc/passwd upwards; ln -s deep/er/../../.. crooked; ln -s deep fine
ln -s . loop; ln -s nowhere dangling
mkfifo pipe; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("sock")'
truncate -s 900G sparse
echo kept > deep/er/kept
chmod 000 deep/er/kept
touch "$(printf 'bad\\377name')" "$(printf 'two\\nlines')" -- -rf
mkdir locked && echo inside > locked/inside && chmod 000 locked
mkdir -p $(python3 -c 'print("/".join(["d" * 200] * 15))')
"""
PROBE = """\
exec 2>&1
cat /etc/shadow | grep -v ':[*!]' && echo HOST-SHADOW
ls -d @HOST@ && echo HOST-FILES
ls /proc | grep -c '^[0-9]' | xargs test 12 -gt || echo HOST-PROCESSES
ip -o addr 2>/dev/null | grep -v ' lo ' && echo NETWORK
python3 - <<'END'
import socket, os
for where in (("1.1.1.1", 53), ("127.0.0.1", 22)):
    try: socket.create_connection(where, 1); print("REACHED", where)
    except OSError: pass
try: socket.socket(40); print("VSOCK")
except OSError: pass
try: open("/proc/sys/kernel/core_pattern", "w"); print("SYSCTL")
except OSError: pass
END
mount -t tmpfs none /mnt && echo MOUNTED
unshare -U true && echo NAMESPACE
mknod /tmp/disk b 8 0 && echo DEVICE
[ "$(cut -d' ' -f1 /proc/self/loginuid 2>/dev/null)" = 0 ] && echo LOGIN
awk '$1 == 0 && $2 == 0 {print "ROOT-OF-HOST"}' /proc/self/uid_map
echo probed; echo done > /app/done
"""
TO_JSON = """sed 's/.*/{"reward": &}/'"""
STEPS = """
[[steps]]
name = "one"
[[steps]]
name = "two"
"""

REFUSED = {
    "stages": (
        {"environment/Dockerfile": "FROM a\nFROM b\n"},
        "Dockerfile:2: FROM: multi-stage builds are not supported",
    ),
    "composed": (
        {"environment/docker-compose.yaml": "services: {}\n"},
        "docker-compose.yaml: the bubblewrap environment does not support this file",
    ),
    "volume": (
        {"environment/Dockerfile": "FROM a\n\nVOLUME /x\n"},
        "Dockerfile:3: VOLUME: is not supported by the bubblewrap environment",
    ),
    "fetched": (
        {"environment/Dockerfile": "FROM a\nADD https://x.y/z /z\n"},
        "Dockerfile:2: ADD https://x.y/z: downloads are not supported",
    ),
}


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> dict[str, HarborTrial]:
    """One job on many tasks, two at a time."""
    return once(tmp_path_factory, "tasks-of-all-kinds", prepare)


def prepare(harbor_project: HarborProject) -> None:
    """Tasks in which something works, goes wrong, or is tried that must not be."""
    secret = harbor_project.folder / "secret"
    secret.write_text("x")
    harbor_project.task(
        "whole",
        dockerfile=DOCKERFILE,
        files={
            "environment/notes.txt": "note\n",
            "environment/tools/start.sh": '#!/bin/sh\necho "$@" > /tmp/entered\nshift\nexec "$@"\n',
            "environment/tools/greet.sh": '#!/bin/sh\necho "$GREETING from $(whoami)"\n',
        },
        solve=f'echo "$(whoami) $(pwd)" > done; {harbor_project.daemon}',
        test=LOOK,
        toml='[agent]\nuser = "bob"\n[verifier]\nuser = "bob"\n',
    )
    harbor_project.task("slow", solve="echo done > /app/done; sleep 600", toml="[agent]\ntimeout_sec = 2\n")
    harbor_project.task("silent", test="echo no reward here")
    harbor_project.task("crashing", solve="kill -9 -1", test="echo 0 > /logs/verifier/reward.txt")
    harbor_project.task("hostile", solve=HOSTILE)
    harbor_project.task(
        "isolation", solve=PROBE.replace("@HOST@", str(secret)), toml='[environment]\nnetwork_mode = "no-network"\n'
    )
    harbor_project.task(
        "steps",
        toml=STEPS,
        files={
            "steps/one/instruction.md": "One.\n",
            "steps/one/solution/solve.sh": f"#!/bin/bash\n{harbor_project.daemon}\necho 1 > /app/one\n",
            "steps/one/tests/test.sh": "#!/bin/bash\ncat /app/one > /logs/verifier/reward.txt\n",
            "steps/two/instruction.md": "Two.\n",
            "steps/two/solution/solve.sh": "#!/bin/bash\npgrep -f mark- && cat /app/one > /app/two\n",
            "steps/two/tests/test.sh": f"#!/bin/bash\n{TO_JSON} /app/two > /logs/verifier/reward.json\n",
        },
    )
    harbor_project.task(
        "separate",
        top='artifacts = ["/app/done"]\n',
        toml='[verifier]\nenvironment_mode = "separate"\n',
        solve=f"echo done > /app/done; echo forged > /tests; {harbor_project.daemon}",
        files={
            "tests/Dockerfile": "FROM debian:12\nWORKDIR /app\nCOPY . /tests/\n",
            "tests/test.sh": "#!/bin/bash\npgrep -f mark- && echo 0 > /logs/verifier/reward.txt && exit\n"
            "grep -c done /app/done > /logs/verifier/reward.txt\n",
        },
    )
    harbor_project.task("broken", dockerfile="FROM debian:12\nRUN echo why >&2; exit 7\n")
    harbor_project.task(
        "memory",
        solve="head -c 600M /dev/zero | tail -c 500M | sort > /dev/null",
        toml="[environment]\nmemory_mb = 100\n",
    )
    for name, (files, _) in REFUSED.items():
        harbor_project.task(name, files=files)


def test_a_whole_dockerfile_is_replayed(trials: dict[str, HarborTrial]) -> None:
    """Variables, folder, files, users, forms of RUN: the verifier looks at all of it, as the user that it asks for."""
    assert trials["whole"].exception is None
    assert trials["whole"].reward == 1.0, trials["whole"].text("verifier/test-stdout.txt")


def test_an_agent_out_of_time_is_ended_and_what_it_did_is_judged(trials: dict[str, HarborTrial]) -> None:
    """Harbor calls it a time-out and asks the verifier nevertheless; that is noted."""
    assert trials["slow"].exception == "AgentTimeoutError"
    assert trials["slow"].reward == 1.0
    capture = trials["slow"].capture()
    assert (capture.rewards, capture.breakdown) == ({"reward": 1.0}, None)
    assert [note.partition(":")[0] for note in capture.notes] == ["AgentTimeoutError"]


def test_a_missing_reward_is_reported(trials: dict[str, HarborTrial]) -> None:
    """It is no zero, and a second attempt would be the same. `validate` shows what the verifier printed."""
    assert trials["silent"].exception == "RewardFileNotFoundError"
    assert trials["silent"].reward is None
    capture = trials["silent"].capture()
    assert capture.breakdown is not None
    assert (capture.breakdown.cause, capture.breakdown.cause.retryable) == (VoidCause.VERIFIER, False)
    (complaint,) = task_complaints(RewardCheck(), [capture], [])
    assert (complaint.fault, "test-stdout.txt:\nno reward here" in complaint.detail) == (SelfTestFault.CRASHED, True)


def test_a_program_that_kills_everybody_in_there_ends_itself_only(trials: dict[str, HarborTrial]) -> None:
    """The sandbox is still there for the verifier."""
    assert (trials["crashing"].exception, trials["crashing"].reward) == (None, 0.0)
    assert trials["crashing"].text("agent/exit-code.txt") == "137"


def test_hostile_files_spoil_nothing(trials: dict[str, HarborTrial]) -> None:
    """Harmless files are downloaded, also those without read permission; the others are skipped and reported."""
    trial = trials["hostile"]
    assert (trial.exception, trial.reward) == (None, 1.0)
    found = trial.folder / "artifacts/logs/artifacts"
    assert (found / "deep/er/kept").read_text() == "kept\n"
    assert (found / "locked/inside").read_text() == "inside\n"
    assert {"-rf", "two\nlines", "fine", "dangling", "loop"} <= {one.name for one in found.iterdir()}
    for name in ("absolute", "upwards", "crooked", "pipe", "sock", "sparse"):
        assert not (found / name).is_symlink()
        assert not (found / name).exists()
        assert f"not copied out of the sandbox: /logs/artifacts/{name}" in trial.text("trial.log")
    for link in (one for one in found.rglob("*") if one.is_symlink()):
        assert link.resolve().is_relative_to(found.resolve())


def test_the_isolation_holds(trials: dict[str, HarborTrial]) -> None:
    """Nothing of the host is there: each line in capitals would be a hole."""
    assert trials["isolation"].reward == 1.0
    said = trials["isolation"].text("agent/oracle.txt")
    assert said.endswith("probed\n")
    assert [line for line in said.splitlines() if line.isupper() or line.startswith("REACHED")] == []


def test_steps_share_their_environment(trials: dict[str, HarborTrial]) -> None:
    """A file and a daemon of the first step are there in the second."""
    steps = trials["steps"].result["step_results"]
    assert [one["verifier_result"]["rewards"] for one in steps] == [{"reward": 1.0}, {"reward": 1.0}]


def test_a_separate_verifier_sees_artifacts_and_nothing_else(trials: dict[str, HarborTrial]) -> None:
    """Not the agent's processes, nor what it put in the place of the tests."""
    assert (trials["separate"].exception, trials["separate"].reward) == (None, 1.0)


def test_a_step_of_the_dockerfile_that_fails_is_named(trials: dict[str, HarborTrial]) -> None:
    """With its line, its exit code and what it said."""
    assert trials["broken"].exception == "SandboxStepFailedError"
    assert "Dockerfile:2: RUN: exit code 7\nwhy" in trials["broken"].message


def test_memory_has_a_limit(trials: dict[str, HarborTrial]) -> None:
    """The whole environment is stopped, and that is the reported reason."""
    assert trials["memory"].exception == "WorldError"
    assert "they used" in trials["memory"].message


def test_trials_at_the_same_time_have_a_sandbox_each(harbor_project: HarborProject) -> None:
    """What one leaves, another does not find; and doing nothing gets nothing."""
    task = harbor_project.task(
        "many", solve=f"[ -e /usr/local/mine ] || echo done > done; touch /usr/local/mine; {harbor_project.daemon}"
    )
    trials = harbor_project.run("-n", "2", "-k", "4", path=task, agents=("oracle", "nop"))
    assert [trial.exception for trial in trials] == [None] * 8
    assert sorted((trial.agent, trial.reward) for trial in trials) == [("nop", 0.0)] * 4 + [("oracle", 1.0)] * 4


def test_the_network_of_this_machine_is_for_tasks_that_do_not_refuse_it(harbor_project: HarborProject) -> None:
    """With the option `network=host`."""
    tasks = harbor_project.folder / "network"
    with socket.create_server(("127.0.0.1", 0)) as server:
        asks = f"if bash -c '</dev/tcp/127.0.0.1/{server.getsockname()[1]}'; then echo 1; else echo 0; fi"
        for name, toml in {"open": "", "closed": '[environment]\nnetwork_mode = "no-network"\n'}.items():
            harbor_project.task(name, test=f"{asks} > /logs/verifier/reward.txt", toml=toml, under=tasks)
        trials = harbor_project.run("--ek", "network=host", path=tasks)
    assert {name: trial.reward for name, trial in by_task(trials).items()} == {"open": 1.0, "closed": 0.0}


@pytest.mark.parametrize(("task", "complaint"), [(task, complaint) for task, (_, complaint) in REFUSED.items()])
def test_what_cant_be_honoured_is_refused_by_name(trials: dict[str, HarborTrial], task: str, complaint: str) -> None:
    """Before anything of it is run, and other tasks go on."""
    assert trials[task].exception == "SandboxUnsupportedError"
    assert complaint in trials[task].message


def test_harbor_killed_leaves_nothing(harbor_project: HarborProject) -> None:
    """Neither processes nor folders, though it had no chance to clean up."""
    task = harbor_project.task("endless", solve=f"{harbor_project.daemon} sleep 4321")
    process = harbor_project.start(
        "run", "-p", str(task), "-a", "oracle", "--env", ENVIRONMENT, "-y", "-q", "-o", str(harbor_project.folder / "k")
    )
    try:
        wait_until(
            lambda: (
                any(line.startswith(harbor_project.mark) for line in harbor_project.processes())
                or process.poll() is not None
            )
        )
    finally:
        process.kill()
        assert process.wait() == -9
    wait_until(lambda: not harbor_project.processes() and not list(harbor_project.temp.glob("demeanor-*")))
