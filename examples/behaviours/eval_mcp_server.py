"""How an agent uses the tools of a server: an issue tracker that is scripted in the eval."""

from demeanor import USUALLY_PASSES, Fixture, FixtureTool, Reply, Rig, Stage, eval_test

TRACKER = Fixture(
    {
        "search": FixtureTool(
            description="Search the issues of this project by words.",
            schema={"query": "string"},
            replies=[
                Reply("#17 Program crashes at start when the config is empty (open)", when={"query": "*crash*"}),
                Reply("No issue matches {query}."),
            ],
        ),
        "create": FixtureTool(
            description="Create an issue.",
            schema={"title": "string", "body": "string"},
            replies="Created #18.",
        ),
    }
)


def searches(stage: Stage) -> None:
    stage.call("tracker.search", query="crash at start")
    stage.say("This is #17 already.")


def reports_again(stage: Stage) -> None:
    stage.call("tracker.create", title="Crash at start", body="It crashes with an empty config.")
    stage.say("I created #18.")


def searches_but_reports_again(stage: Stage) -> None:
    stage.call("tracker.search", query="crash at start")
    stage.call("tracker.create", title="Crash at start", body="It crashes with an empty config.")
    stage.say("I created #18; see also #17.")


@eval_test(
    USUALLY_PASSES,
    prompt="The program crashes at start when its config is empty. Make sure that the tracker has exactly one issue for"
    " this, and tell me its number.",
    mcp={"tracker": TRACKER},
    passes_on=searches,
    fails_on=[reports_again, searches_but_reports_again],
    tags=["mcp"],
)
def finds_the_existing_issue(rig: Rig, result: str) -> None:
    """An issue that exists is found, and not created again."""
    assert rig.calls.named("tracker.search")
    assert not rig.calls.named("tracker.create")
    assert "17" in result
