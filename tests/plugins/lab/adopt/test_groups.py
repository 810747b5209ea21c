"""`demeanor adopt FOLDER`: the sessions of a folder in groups, with an eval of one example of each."""

from __future__ import annotations

from demeanor.define.python.import_file import evals_in_file
from tests.helpers.project import Project
from tests.helpers.session_samples import session_file


def test_the_first_evals_come_from_sessions(project: Project):
    """One per group, with gaps; every session is listed, and no file is overwritten."""
    for agent in ("claude-code", "gemini-cli"):
        session_file(agent, project.folder.parent / "logs" / agent)
    (project.folder.parent / "logs/other.json").write_text("{}")
    evals = project.folder / "evals"
    evals.mkdir()
    (evals / "eval_tidy_up_remove_the_build_folder.py").write_text("mine = 1\n")
    done = project.demeanor("adopt", str(project.folder.parent / "logs"))
    assert done.returncode == 0, done.stderr
    assert "2 sessions: deleted a file" in done.stdout
    assert "a session of claude-code" in done.stdout
    assert "a session of gemini-cli" in done.stdout
    assert "1 file without a session that can be read" in done.stdout
    names = {path.name for path in evals.iterdir()}
    assert names == {"eval_tidy_up_remove_the_build_folder.py", "eval_tidy_up_remove_the_build_folder_2.py"}
    assert (evals / "eval_tidy_up_remove_the_build_folder.py").read_text() == "mine = 1\n"
    (one,) = evals_in_file(evals / "eval_tidy_up_remove_the_build_folder_2.py")
    assert one.name == "tidy_up_remove_the_build_folder_2"
    assert one.gaps
    again = project.demeanor("adopt", str(project.folder.parent / "logs"))
    assert "eval_tidy_up_remove_the_build_folder_2.py (already exists)" in again.stdout
    assert {path.name for path in evals.iterdir()} == names


def test_a_folder_without_sessions_is_an_error(project: Project):
    """Nothing is written then."""
    done = project.demeanor("adopt", ".")
    assert done.returncode == 2
    assert "there is no session in it" in done.stderr
    assert list(project.folder.iterdir()) == []


def test_what_concerns_one_session_is_refused_for_a_folder(project: Project):
    """Instead of being ignored."""
    done = project.demeanor("adopt", ".", "--name", "tidies_up")
    assert done.returncode == 2
    assert "--name is about one session" in done.stderr
