"""Instructions as steps, with everything known beforehand; what can't be honoured is refused by name."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from demeanor.core.values.errors import BadInput
from demeanor.plugins.harbor.dockerfile.image import Copy, ImageSpec, MakeFolder, Run
from demeanor.plugins.harbor.dockerfile.planner import PATH, read

WHOLE = """\
ARG VERSION=12
FROM debian:${VERSION} AS main
ARG VERSION
ARG GIVEN=no
ENV A=1 B="two words" C=$GIVEN
ENV OLD form of it
ENV A=2 D=$A
WORKDIR /srv
WORKDIR app
COPY --chown=bob:staff --chmod=640 a b/ ./in/
RUN make $B
USER bob
RUN ["make", "$B"]
SHELL ["/bin/bash", "-c"]
RUN echo $VERSION
ADD one.txt /two.txt
EXPOSE 80
LABEL x=y
CMD ["run"]
ENTRYPOINT ["start", "it"]
"""


def test_a_dockerfile_comes_to_steps_and_what_holds_later() -> None:
    """Variables as they were at each line; folders and users as they follow upon each other."""
    image = read(WHOLE, args={"GIVEN": "yes"})
    env = {"PATH": PATH, "A": "2", "B": "two words", "C": "yes", "OLD": "form of it", "D": "1"}
    assert (image.base, image.workdir, image.user) == ("debian:12", "/srv/app", "bob")
    assert image.env == env
    assert image.entrypoint == ("start", "it")
    built = {"VERSION": "12", "GIVEN": "yes", **env}
    assert image.steps == (
        MakeFolder(line=8, path="/srv"),
        MakeFolder(line=9, path="/srv/app"),
        Copy(line=10, name="COPY", sources=("a", "b/"), target="/srv/app/in", into=True, owner="bob:staff", mode=0o640),
        Run(line=11, argv=("/bin/sh", "-c", "make $B"), env=built, cwd="/srv/app", user="root"),
        Run(line=13, argv=("make", "$B"), env=built, cwd="/srv/app", user="bob"),
        Run(line=15, argv=("/bin/bash", "-c", "echo $VERSION"), env=built, cwd="/srv/app", user="bob"),
        Copy(line=16, name="ADD", sources=("one.txt",), target="/two.txt", into=False, owner="0:0"),
    )


def test_a_working_directory_belongs_to_the_user_of_its_line() -> None:
    """As with BuildKit."""
    image = read("FROM a\nWORKDIR /a\nUSER bob\nWORKDIR b\n")
    assert image.steps == (MakeFolder(line=2, path="/a"), MakeFolder(line=4, path="/a/b", user="bob"))


def test_a_script_in_a_here_document_is_run() -> None:
    """Alone it is the script; after a command the shell reads it by itself."""
    image = read("FROM a\nRUN <<-EOF\n\techo 1\n\tEOF\nRUN cat <<EOF > /x\nbody\nEOF\n")
    scripts = [step.argv[-1] for step in image.steps if isinstance(step, Run)]
    assert scripts == ["echo 1\n", "cat <<EOF > /x\nbody\nEOF\n"]


def test_a_file_in_a_here_document_is_copied() -> None:
    """Variables are replaced, quotes are kept; a quoted delimiter keeps everything."""
    image = read('FROM a\nENV A=b\nCOPY <<ONE <<"TWO" x /srv/\n"$A" ${A:-c} \\$A\nONE\n$A\nTWO\n')
    (step,) = image.steps
    assert isinstance(step, Copy)
    assert (step.sources, step.target, step.into) == (("x",), "/srv", True)
    assert step.documents == {"ONE": '"b" b $A\n', "TWO": "$A\n"}


def test_the_settings_of_a_known_base_image_hold() -> None:
    """Unless the Dockerfile sets others."""
    base = ImageSpec(base="a", env={"PATH": "/opt/bin", "A": "1"}, workdir="/srv", user="app", entrypoint=("start",))
    image = read("FROM a\nENV A=2$A\nWORKDIR x\nRUN true\n", base=base)
    assert (image.env, image.workdir, image.user) == ({"PATH": "/opt/bin", "A": "21"}, "/srv/x", "app")
    assert image.entrypoint == ("start",)
    assert image.steps[-1] == Run(line=4, argv=("/bin/sh", "-c", "true"), env=image.env, cwd="/srv/x", user="app")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("FROM other", "FROM: multi-stage builds are not supported"),
        ("COPY --from=other /a /b", "COPY --from=other: is not supported by the bubblewrap environment"),
        ("COPY --parents a /b", "COPY --parents: is not supported by the bubblewrap environment"),
        ("COPY --chmod=u+x a /b", "COPY --chmod=u+x: permissions must be octal"),
        ("COPY ../a /b", "COPY ../a: leads out of the build context"),
        ("COPY a", "COPY: expected sources and a target"),
        ("ADD https://example.org/x /x", "ADD https://example.org/x: downloads are not supported"),
        ("ADD git@example.org:x.git /x", "ADD git@example.org:x.git: downloads are not supported"),
        ("ADD a.tar.zst /x", "ADD a.tar.zst: unpacking archives that are compressed with zstd is not supported"),
        ("RUN --mount=type=cache make", "RUN --mount=type=cache: is not supported by the bubblewrap environment"),
        ("RUN <<EOF\n#!/usr/bin/python3\nEOF", "RUN: a here-document with a shebang line"),
        ("HEALTHCHECK CMD true", "HEALTHCHECK: is not supported by the bubblewrap environment"),
        ("VOLUME /data", "VOLUME: is not supported by the bubblewrap environment"),
        ("ONBUILD RUN x", "ONBUILD: is not supported by the bubblewrap environment"),
        ("INVENTED x", "INVENTED: is not supported by the bubblewrap environment"),
        ("ENV A=1 B", "ENV: expected NAME=VALUE, not 'B'"),
        ("WORKDIR $NOTHING", "WORKDIR: a path is missing"),
        ("USER ${A#x}", "USER: ${A#…} is not supported"),
        ("SHELL /bin/sh -c", "SHELL: expected a JSON form"),
    ],
)
def test_what_cant_be_honoured_is_refused_with_its_line(line: str, complaint: str) -> None:
    """By name; nothing is passed over."""
    with pytest.raises(BadInput) as caught:
        read(f"FROM a\n\n{line}\n", where="environment/Dockerfile")
    assert str(caught.value).startswith(f"environment/Dockerfile:3: {complaint}")


@pytest.mark.parametrize("text", ["", "# nothing\n", "RUN x\nFROM a\n", "FROM scratch\n", "FROM\n", "FROM a b\n"])
def test_there_must_be_something_to_start_from(text: str) -> None:
    """Exactly one image."""
    with pytest.raises(BadInput, match="FROM"):
        read(text)


@pytest.mark.parametrize("line", ["HEALTHCHECK NONE", "MAINTAINER me", "STOPSIGNAL 9", "EXPOSE 80", "CMD x", "LABEL a"])
def test_what_changes_nothing_here_is_let_pass(line: str) -> None:
    """Harbor says itself what is run, and how it is watched."""
    assert read(f"FROM a\n{line}\n").steps == ()


PARTS = st.lists(st.sampled_from(["a", "b", ".", "c.d"]), min_size=1, max_size=4).map("/".join)


@given(st.lists(st.tuples(st.booleans(), PARTS), max_size=6))
def test_folders_follow_upon_each_other(folders: list[tuple[bool, str]]) -> None:
    """A whole path starts anew, any other goes on from where one is; the result is always a whole, plain path."""
    text = "FROM a\n" + "".join(f"WORKDIR {'/' if whole else ''}{path}\n" for whole, path in folders)
    workdir = read(text).workdir
    last_whole = max((number for number, (whole, _) in enumerate(folders) if whole), default=0)
    parts = [part for _, path in folders[last_whole:] for part in path.split("/") if part != "."]
    assert workdir == "/" + "/".join(parts)
