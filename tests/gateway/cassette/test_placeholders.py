"""What belongs to one bench is taken out and put in again."""

from __future__ import annotations

from demeanor.gateway.cassette.placeholders import Places

HERE = Places({"workspace": "/tmp/hf-1/3/workspace", "home": "/tmp/hf-1/3/home", "base_url": "http://127.0.0.1:9/t/a"})
THERE = Places({"workspace": '/var/o"ther/8/workspace', "home": '/var/o"ther/8/home'})


def test_paths_move_to_another_bench():
    """Workspace, HOME and temp folder are found again at another place."""
    said = "cd /tmp/hf-1/3/workspace; ls /tmp/hf-1/3/home/.x /tmp/hf-1/3/tmp/y -tmp-hf-1-3-workspace"
    hidden = HERE.hide(said)
    assert "/tmp/hf-1" not in hidden
    assert THERE.show(hidden) == (
        'cd /var/o"ther/8/workspace; ls /var/o"ther/8/home/.x /var/o"ther/8/tmp/y -var-o-ther-8-workspace'
    )


def test_a_path_that_only_begins_alike_is_left_alone():
    """`/tmp/hf-1/31` is no part of `/tmp/hf-1/3`."""
    assert HERE.hide("/tmp/hf-1/31/workspace /tmp/hf-1/3/workspace-2") == (
        "/tmp/hf-1/31/workspace {{demeanor:bench}}/workspace-2"
    )


def test_raw_arguments_go_with_the_arguments():
    """Also where the new path needs an escape in JSON."""
    call = {"kind": "tool_call", "arguments": {"path": "/tmp/hf-1/3/workspace/a"}, "raw": '{"path":"/tmp…"}'}
    shown = THERE.show(HERE.hide(call))
    assert shown["raw"] == '{"path": "/var/o\\"ther/8/workspace/a"}'


def test_secrets_and_tokens_are_taken_out():
    """Neither a secret's exact value nor a session's token stays."""
    places = Places({}, ["s3cr3t-value", "short"])
    token = "hf-" + "0f" * 20
    assert places.hide(f"key s3cr3t-value, token {token}, short") == (
        "key {{demeanor:secret}}, token {{demeanor:token}}, short"
    )


def test_keys_of_tables_are_looked_into_too():
    """A tool's arguments may be keyed by paths, or by worse."""
    places = Places({"workspace": "/tmp/hf-1/3/workspace"}, ["s3cr3t-value"])
    hidden = places.hide({"edits": {"/tmp/hf-1/3/workspace/a": "x", "s3cr3t-value": 1}})
    assert hidden == {"edits": {"{{demeanor:workspace}}/a": "x", "{{demeanor:secret}}": 1}}


def test_the_seed_that_was_drawn_for_the_attempt_does_not_count():
    """Another seed, which the agent chose, does."""
    places = Places({"seed": "7"})
    request = {"sampling": {"seed": 7}, "extra": {"openai-chat": {"seed": 7, "n": 1}}}
    assert places.hide_request(request) == {"sampling": {}, "extra": {"openai-chat": {"n": 1}}}
    assert places.hide_request({"sampling": {"seed": 8}}) == {"sampling": {"seed": 8}}


def test_marks_of_a_bench_that_is_not_known_stay():
    """Nothing is put in where nothing is known."""
    assert (
        Places({}).show("{{demeanor:workspace}} {{demeanor:../../x}}") == "{{demeanor:workspace}} {{demeanor:../../x}}"
    )
