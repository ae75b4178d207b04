"""Goal: a wait sees every event once and in order although streams are cut, and ends where there are no events at all.
Method: the started program behind a link that answers, cuts or passes on the requests for events."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from darkroom_client import ApiError, AsyncDarkroom, Darkroom
from links import Link, cut_after, link  # noqa: F401

REQUEST: Any = {
    "model_key": "sandbox-test",
    "operation": "image_generation",
    "prompt": "a lighthouse",
    "parameters": {"behaviour": "slow", "delay_ms": 400, "size": "128x128"},
}
ORDER = ["queued", "running", "progress", "cancel_requested", "ended"]


def seen_by_loop(url: str, api_key: str, generation_id: str) -> list[Any]:
    async def seen() -> list[Any]:
        async with AsyncDarkroom(url, api_key) as darkroom:
            return [event async for event in darkroom.events(generation_id)]

    return asyncio.run(seen())


def seen_blocking(url: str, api_key: str, generation_id: str) -> list[Any]:
    return list(Darkroom(url, api_key).events(generation_id))


@pytest.mark.parametrize("see", [seen_blocking, seen_by_loop])
def test_goes_on_behind_the_last_event(link: Link, api_key: str, see: Callable[..., list[Any]]) -> None:
    link.on_events = lambda handler: cut_after(handler, 1)
    generation = Darkroom(link.url, api_key).create_generation(REQUEST)["generation_id"]
    seen = see(link.url, api_key, generation)
    types = [event["type"] for event in seen]
    assert types == sorted(types, key=ORDER.index)
    assert {"queued", "running", "ended"} <= set(types)
    assert seen[-1]["task"]["status"] == "succeeded"
    assert link.asked[0] == "" and len(set(link.asked)) == len(link.asked) == len(seen)
    assert link.polls == 0


@pytest.mark.parametrize(
    "absent",
    [
        lambda handler: handler.refuse(404, "ROUTE_NOT_FOUND"),
        lambda handler: handler.reply(200, "text/html", "<html>"),
        lambda handler: handler.reply(406, "text/html", "<html>"),
    ],
)
def test_polls_where_there_are_no_events(link: Link, api_key: str, absent: Callable[[Any], bool]) -> None:
    link.on_events = absent
    darkroom = Darkroom(link.url, api_key)
    assert darkroom.wait(darkroom.create_generation(REQUEST))["status"] == "succeeded"
    assert link.polls > 0


def test_tries_again_after_a_refusal_of_a_moment_only(link: Link, api_key: str) -> None:
    darkroom = Darkroom(link.url, api_key)
    answers = [lambda handler: handler.refuse(503, "SERVICE_UNAVAILABLE"), lambda handler: handler.reply(503, "text/html", "")]
    link.on_events = lambda handler: len(link.asked) < 3 and answers[len(link.asked) - 1](handler)
    assert darkroom.wait(darkroom.create_generation(REQUEST), timeout_s=60)["status"] == "succeeded"
    assert (link.polls, len(link.asked)) == (0, 3)
    link.on_events = lambda handler: handler.refuse(401, "DEVELOPER_TOKEN_REVOKED")
    with pytest.raises(ApiError, match="DEVELOPER_TOKEN_REVOKED"):
        darkroom.wait(darkroom.create_generation(REQUEST))
