"""The gate's comment on a pull request on GitHub: one comment, which each run of the gate replaces."""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from demeanor.core.text.wording import one_line
from demeanor.core.values.errors import BadInput, StoreError

MARK = "<!-- demeanor gate: the next run replaces this comment -->"
_MAX_CHARACTERS = 60_000  # GitHub accepts 65,536
_PAGE = 100
_QUERY = f"""\
query($owner: String!, $name: String!, $number: Int!, $after: String) {{
  repository(owner: $owner, name: $name) {{
    pullRequest(number: $number) {{
      comments(first: {_PAGE}, after: $after) {{
        nodes {{ databaseId body viewerDidAuthor }}
        pageInfo {{ endCursor }}
      }}
    }}
  }}
}}
"""
"""Only GraphQL tells whose comments these are, for tokens of users, of jobs and of apps alike."""
_TIMEOUT = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class PullRequest:
    """A pull request, and how to reach it."""

    api: str
    """The URL of GitHub's API."""

    repository: str
    """Owner and name of the repository."""

    number: int
    """The number of the pull request."""

    token: str = field(repr=False)
    """A token that may write to pull requests."""


def pull_request(environ: Mapping[str, str]) -> PullRequest:
    """The pull request of this job, from the variables that GitHub sets; raises BadInput if there is none."""
    try:
        event = json.loads(Path(environ["GITHUB_EVENT_PATH"]).read_text("utf-8"))
        number = event["pull_request"]["number"]
        repository = environ["GITHUB_REPOSITORY"]
    except (KeyError, TypeError, OSError, ValueError):
        raise BadInput(
            "this is not the job of a pull request on GitHub, so there is nothing to comment on",
            where="--comment",
            remedy="use it in a workflow that is triggered by pull_request",
        ) from None
    api = environ.get("GITHUB_API_URL", "https://api.github.com")
    return PullRequest(api=api, repository=repository, number=int(number), token=_token(environ))


def write_comment(place: PullRequest, markdown: str) -> str:
    """Replace the gate's earlier comment, or write the first one; returns its URL.

    Anyone can write a comment that begins like the gate's. Only one that the token's own user wrote is replaced.
    """
    body = {"body": f"{MARK}\n{_shortened(markdown)}"}
    comments = f"{place.api}/repos/{place.repository}/issues"
    method, url = "POST", f"{comments}/{place.number}/comments"
    for number, text in _own_comments(place):
        if text.startswith(MARK):
            method, url = "PATCH", f"{comments}/comments/{number}"
            break
    match _call(place, method, url, body):
        case {"html_url": str(written)}:
            return written
        case other:
            raise _unexpected(url, other)


def _own_comments(place: PullRequest) -> Iterator[tuple[int, str]]:
    """The number and the text of each comment on the pull request that the token's user wrote."""
    url = f"{place.api.removesuffix('/v3')}/graphql"  # of GitHub Enterprise: /api/v3 and /api/graphql
    owner, _, name = place.repository.partition("/")
    after = None
    while True:
        variables = {"owner": owner, "name": name, "number": place.number, "after": after}
        answer = _call(place, "POST", url, {"query": _QUERY, "variables": variables})
        match answer:
            case {
                "data": {
                    "repository": {
                        "pullRequest": {"comments": {"nodes": list(nodes), "pageInfo": {"endCursor": after}}}
                    }
                }
            }:
                yield from _written_by_viewer(nodes)
            case other:
                raise _unexpected(url, other)
        if len(nodes) < _PAGE:
            return


def _written_by_viewer(nodes: Sequence[object]) -> Iterator[tuple[int, str]]:
    for node in nodes:
        match node:
            case {"viewerDidAuthor": True, "databaseId": int(number), "body": str(text)}:
                yield number, text


def _unexpected(url: str, answer: object) -> StoreError:
    """The error of an answer that is not GitHub's."""
    return StoreError(
        f"the answer of {url} is not one of GitHub's API: {one_line(json.dumps(answer))}\n"
        "  → check the URL of the API: GITHUB_API_URL"
    )


def _shortened(markdown: str) -> str:
    if len(markdown) <= _MAX_CHARACTERS:
        return markdown
    kept = markdown[:_MAX_CHARACTERS].rpartition("\n")[0]
    return f"{kept}\n\nThe rest is in the summary of the job: it is too long for a comment."


def _token(environ: Mapping[str, str]) -> str:
    """GITHUB_TOKEN, GH_TOKEN, or the token of the user's `gh`."""
    token = environ.get("GITHUB_TOKEN") or environ.get("GH_TOKEN")
    if not token and shutil.which("gh"):
        end = subprocess.run(["gh", "auth", "token"], capture_output=True, text=True, check=False)
        token = end.stdout.strip()
    if not token:
        remedy = "pass the job's token: env: { GITHUB_TOKEN: ${{ github.token }} }"
        raise BadInput("no token for GitHub", where="--comment", key="GITHUB_TOKEN", remedy=remedy)
    return token


def _call(place: PullRequest, method: str, url: str, body: Mapping[str, Any]) -> Any:
    request = urllib.request.Request(  # noqa: S310 - the URL of the API, which CI sets
        url,
        method=method,
        data=json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {place.token}",
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
            "X-GitHub-Api-Version": "2022-11-28",
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:  # noqa: S310
            return json.load(answer)
    except urllib.error.HTTPError as error:
        needed = "\n  → the job needs `permissions: { pull-requests: write }`" if error.code in {403, 404} else ""
        raise StoreError(f"GitHub refused the comment: {error.code} {error.reason}{needed}") from None
    except (OSError, ValueError) as error:
        raise StoreError(f"GitHub can't be reached for the comment: {error}") from None
