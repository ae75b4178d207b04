"""Goal: a follower of the App is given every event once and in order for each generation although its stream is cut, and learns
when it may not follow. Method: the started program behind a link that cuts or refuses the requests for events."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import aclosing, closing
from typing import Any

import pytest
from darkroom_client import ApiError, AsyncDarkroom, ConnectionFailed, Darkroom, EventsUnsupported
from links import Link, cut_after, link  # noqa: F401

REQUEST: Any = {
    "model_key": "sandbox-test",
    "operation": "image_generation",
    "prompt": "a lighthouse",
    "parameters": {"behaviour": "slow", "delay_ms": 100, "size": "128x128"},
}
ORDER = ["queued", "running", "progress", "cancel_requested", "ended"]


class Follower(threading.Thread):
    """Follows the App until so many generations have ended. It is there once the service has begun to send events."""

    def __init__(self, see: Callable[..., list[Any]], link: Link, api_key: str, ends: int, last: str | None = None) -> None:
        super().__init__(daemon=True)
        link.begun.clear()
        self.see = lambda: see(link.url, api_key, ends, last)
        self.seen: list[Any] = []
        self.start()
        assert link.begun.wait(60)

    def run(self) -> None:
        self.seen = self.see()

    def all(self) -> list[Any]:
        self.join(60)
        return self.seen


def seen_blocking(url: str, api_key: str, ends: int, last: str | None) -> list[Any]:
    seen: list[Any] = []
    with Darkroom(url, api_key) as darkroom, closing(darkroom.app_events(last_event_id=last)) as events:
        for event in events:
            seen.append(event)
            ends -= event["type"] == "ended"
            if ends == 0:
                break
    return seen


def seen_by_loop(url: str, api_key: str, ends: int, last: str | None) -> list[Any]:
    async def follow() -> list[Any]:
        seen: list[Any] = []
        async with AsyncDarkroom(url, api_key) as darkroom, aclosing(darkroom.app_events(last_event_id=last)) as events:
            left = ends
            async for event in events:
                seen.append(event)
                left -= event["type"] == "ended"
                if left == 0:
                    break
        return seen

    return asyncio.run(follow())


@pytest.mark.parametrize("see", [seen_blocking, seen_by_loop])
def test_sees_each_event_once_through_cuts(link: Link, api_key: str, see: Callable[..., list[Any]]) -> None:  # noqa: F811
    link.on_events = lambda handler: cut_after(handler, len(link.asked))
    darkroom = Darkroom(link.url, api_key)
    follower = Follower(see, link, api_key, ends=4)
    ids = [darkroom.create_generation(REQUEST)["generation_id"] for _ in range(4)]
    seen = follower.all()
    for generation in ids:
        types = [event["type"] for event in seen if event["task"]["generation_id"] == generation]
        assert types == sorted(types, key=ORDER.index)
        assert types.count("ended") == 1 and types.count("queued") == 1
    assert len(link.asked) > 3 and "" not in link.asked[2:]


@pytest.mark.parametrize("see", [seen_blocking, seen_by_loop])
def test_begins_behind_an_event_of_an_earlier_follower(link: Link, api_key: str, see: Callable[..., list[Any]]) -> None:  # noqa: F811
    darkroom = Darkroom(link.url, api_key)
    follower = Follower(see, link, api_key, ends=1)
    first = darkroom.create_generation(REQUEST)
    last = follower.all()[-1]["id"]
    second = darkroom.wait(darkroom.create_generation(REQUEST))
    seen = see(link.url, api_key, 1, last)
    assert seen[-1]["task"]["generation_id"] == second["generation_id"]
    ended = [event["task"]["generation_id"] for event in seen if event["type"] == "ended"]
    assert first["generation_id"] not in ended


def test_goes_on_after_a_silent_stream_unless_none_ever_came(
    link: Link,  # noqa: F811
    api_key: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("darkroom_client._events._SILENCE_S", 0.3)
    over = threading.Event()

    def silent(handler: Any) -> bool:
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.end_headers()
        over.wait(60)
        return True

    link.on_events = silent
    with pytest.raises(EventsUnsupported, match="nothing came"):
        next(Darkroom(link.url, api_key).app_events())
    asked = len(link.asked)
    ways = [lambda handler: cut_after(handler, 1), silent]
    link.on_events = lambda handler: len(link.asked) - asked <= len(ways) and ways[len(link.asked) - asked - 1](handler)
    follower = Follower(seen_blocking, link, api_key, ends=1)
    Darkroom(link.url, api_key).create_generation(REQUEST)
    types = [event["type"] for event in follower.all()]
    over.set()
    assert types[0] == "queued" and types[-1] == "ended"
    assert len(link.asked) - asked >= len(ways) + 1


def test_waits_on_a_busy_service_and_ends_on_what_stays(link: Link, api_key: str) -> None:  # noqa: F811
    answers = [lambda handler: handler.refuse(503, "SERVICE_UNAVAILABLE"), lambda handler: handler.reply(502, "text/html", "")]
    link.on_events = lambda handler: len(link.asked) < 3 and answers[len(link.asked) - 1](handler)
    darkroom = Darkroom(link.url, api_key)
    follower = Follower(seen_blocking, link, api_key, ends=1)
    darkroom.create_generation(REQUEST)
    assert follower.all()[-1]["type"] == "ended"
    for answer, expected in [
        (lambda handler: handler.refuse(401, "DEVELOPER_TOKEN_REVOKED"), ApiError),
        (lambda handler: handler.reply(200, "text/html", "<html>"), EventsUnsupported),
        (lambda handler: handler.refuse(503, "SERVICE_UNAVAILABLE"), ApiError),
    ]:
        link.on_events = answer
        with pytest.raises(expected):
            next(darkroom.app_events(max_tries=2))
    with pytest.raises(ConnectionFailed):
        next(Darkroom("http://127.0.0.1:9", api_key).app_events(max_tries=1))
