"""Git: worktrees, commit ranges and patches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.vcs.build import BuildFailed as BuildFailed, run_build as run_build
    from demeanor.vcs.checkout import (
        Checkout as Checkout,
        checked_out as checked_out,
        resolve as resolve,
        top_of as top_of,
    )
    from demeanor.vcs.commit_range import Commit as Commit, CommitLine as CommitLine, commit_line as commit_line
    from demeanor.vcs.git_info import GitState as GitState, ci_branch as ci_branch, git_state as git_state
    from demeanor.vcs.github import (
        GitHub as GitHub,
        GitHubError as GitHubError,
        NoGh as NoGh,
        WorkflowRun as WorkflowRun,
        github_repository as github_repository,
        unpack as unpack,
    )
    from demeanor.vcs.line_changes import changed_lines as changed_lines
    from demeanor.vcs.patch import (
        apply_patch as apply_patch,
        without_ignored as without_ignored,
        write_changes as write_changes,
        write_patch as write_patch,
    )
    from demeanor.vcs.text_search import (
        TextLocation as TextLocation,
        find_texts as find_texts,
        tracked_text_files as tracked_text_files,
        words_of as words_of,
    )
    from demeanor.vcs.worktree_pool import Worktrees as Worktrees
    from demeanor.vcs.worktree_state import CACHES as CACHES, TreeState as TreeState, tree_state as tree_state

__getattr__ = lazy_names(
    __name__,
    {
        "build": "BuildFailed run_build",
        "checkout": "Checkout checked_out resolve top_of",
        "commit_range": "Commit CommitLine commit_line",
        "git_info": "GitState ci_branch git_state",
        "github": "GitHub GitHubError NoGh WorkflowRun github_repository unpack",
        "line_changes": "changed_lines",
        "patch": "apply_patch without_ignored write_changes write_patch",
        "text_search": "TextLocation find_texts tracked_text_files words_of",
        "worktree_pool": "Worktrees",
        "worktree_state": "CACHES TreeState tree_state",
    },
)
