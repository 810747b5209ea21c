"""Values of one attempt's environment are replaced by placeholders and restored."""

from __future__ import annotations

from demeanor.gateway.cassette.placeholders import Placeholders

HERE = Placeholders(
    {"workspace": "/tmp/demeanor-1/3/workspace", "home": "/tmp/demeanor-1/3/home", "base_url": "http://127.0.0.1:9/t/a"}
)
THERE = Placeholders({"workspace": '/var/o"ther/8/workspace', "home": '/var/o"ther/8/home'})


def test_paths_are_replaced_by_those_of_another_attempt():
    """Workspace, HOME and temp folder get their new values."""
    text = "cd /tmp/demeanor-1/3/workspace; ls /tmp/demeanor-1/3/home/.x /tmp/demeanor-1/3/tmp/y "
    text += "-tmp-demeanor-1-3-workspace"
    hidden = HERE.hide(text)
    assert "/tmp/demeanor-1" not in hidden
    assert THERE.restore(hidden) == (
        'cd /var/o"ther/8/workspace; ls /var/o"ther/8/home/.x /var/o"ther/8/tmp/y -var-o-ther-8-workspace'
    )


def test_a_path_with_the_same_prefix_is_left_alone():
    """`/tmp/demeanor-1/31` is not inside `/tmp/demeanor-1/3`."""
    assert HERE.hide("/tmp/demeanor-1/31/workspace /tmp/demeanor-1/3/workspace-2") == (
        "/tmp/demeanor-1/31/workspace {{demeanor:bench}}/workspace-2"
    )


def test_raw_arguments_follow_the_arguments():
    """Also if the new path needs an escape in JSON."""
    call = {"kind": "tool_call", "arguments": {"path": "/tmp/demeanor-1/3/workspace/a"}, "raw": '{"path":"/tmp…"}'}
    shown = THERE.restore(HERE.hide(call))
    assert shown["raw"] == '{"path": "/var/o\\"ther/8/workspace/a"}'


def test_secrets_and_tokens_are_removed():
    """Neither a secret's value nor a session's token remains."""
    places = Placeholders({}, ["s3cr3t-value", "short"])
    token = "demeanor-" + "0f" * 20
    assert places.hide(f"key s3cr3t-value, token {token}, short") == (
        "key {{demeanor:secret}}, token {{demeanor:token}}, short"
    )


def test_keys_of_objects_are_replaced_too():
    """A tool's arguments may have paths or secrets as keys."""
    places = Placeholders({"workspace": "/tmp/demeanor-1/3/workspace"}, ["s3cr3t-value"])
    hidden = places.hide({"edits": {"/tmp/demeanor-1/3/workspace/a": "x", "s3cr3t-value": 1}})
    assert hidden == {"edits": {"{{demeanor:workspace}}/a": "x", "{{demeanor:secret}}": 1}}


def test_the_attempts_own_seed_does_not_count():
    """A different seed that the agent chose does."""
    places = Placeholders({"seed": "7"})
    request = {"sampling": {"seed": 7}, "extra": {"openai-chat": {"seed": 7, "n": 1}}}
    assert places.hide_request(request) == {"sampling": {}, "extra": {"openai-chat": {"n": 1}}}
    assert places.hide_request({"sampling": {"seed": 8}}) == {"sampling": {"seed": 8}}


def test_unknown_placeholders_stay():
    """A placeholder without a value is left as it is."""
    assert (
        Placeholders({}).restore("{{demeanor:workspace}} {{demeanor:../../x}}")
        == "{{demeanor:workspace}} {{demeanor:../../x}}"
    )


def test_the_agent_may_be_installed_in_another_folder():
    """A prompt that names a file of the installation is the same on every machine."""
    here = Placeholders({"agent": "/home/a/agents/gemini-cli/0.61.0"})
    there = Placeholders({"agent": "/opt/gemini-cli/0.61.0"})
    hidden = here.hide("read /home/a/agents/gemini-cli/0.61.0/skills/x.md")
    assert hidden == "read {{demeanor:agent}}/skills/x.md"
    assert there.restore(hidden) == "read /opt/gemini-cli/0.61.0/skills/x.md"
