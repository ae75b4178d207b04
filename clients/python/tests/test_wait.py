"""Goal: a wait sees every event once and in order although streams are cut, and ends where there are no events at all.
Method: the started program behind a link that answers, cuts or passes on the requests for events."""

import asyncio
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from darkroom_client import ApiError, AsyncDarkroom, Darkroom

REQUEST: Any = {
    "model_key": "sandbox-test",
    "operation": "image_generation",
    "prompt": "a lighthouse",
    "parameters": {"behaviour": "slow", "delay_ms": 400, "size": "128x128"},
}
ORDER = ["queued", "running", "progress", "cancel_requested", "ended"]


class Link(ThreadingHTTPServer):
    """`on_events` answers requests for events; those that it leaves unanswered are passed on."""

    daemon_threads = True

    def __init__(self, base_url: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.base_url = base_url
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.on_events: Callable[[Any], bool] = lambda handler: False
        self.asked: list[str] = []
        self.polls = 0


class Handler(BaseHTTPRequestHandler):
    server: Link

    def log_message(self, *args: Any) -> None:
        pass

    def refuse(self, status: int, code: str) -> bool:
        return self.reply(status, "application/json", json.dumps({"success": False, "code": code, "message": "No.", "request_id": "r"}))

    def reply(self, status: int, kind: str, text: str) -> bool:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("retry-after", "0")
        self.end_headers()
        self.wfile.write(text.encode())
        return True

    def opened(self) -> Any:
        length = int(self.headers.get("content-length", 0))
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "content-length")}
        body = self.rfile.read(length) if length else None
        request = urllib.request.Request(self.server.base_url + self.path, body, headers, method=self.command)
        try:
            return urllib.request.urlopen(request)
        except urllib.error.HTTPError as error:
            return error

    def do_GET(self) -> None:
        if self.path.endswith("/events"):
            self.server.asked.append(self.headers.get("last-event-id", ""))
            if self.server.on_events(self):
                return
        else:
            self.server.polls += 1
        self.do_POST()

    def do_POST(self) -> None:
        with self.opened() as answer:
            self.send_response(answer.status)
            for name in ("content-type", "preference-applied"):
                if name in answer.headers:
                    self.send_header(name, answer.headers[name])
            self.end_headers()
            while chunk := answer.read1():
                self.wfile.write(chunk)


@pytest.fixture
def link(base_url: str) -> Iterator[Link]:
    made = Link(base_url)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def one_event(handler: Any) -> bool:
    """One event, and half of another one."""
    with handler.opened() as answer:
        handler.send_response(answer.status)
        if answer.status == 204:
            handler.end_headers()
            return True
        handler.send_header("content-type", answer.headers["content-type"])
        handler.end_headers()
        text = ""
        while "id: " not in text or "\n\n" not in text[text.index("id: ") :]:
            text += answer.readline().decode()
        handler.wfile.write(f"{text}id: 99\nevent: ended\nda".encode())
    return True


def seen_by_loop(url: str, api_key: str, generation_id: str) -> list[Any]:
    async def seen() -> list[Any]:
        async with AsyncDarkroom(url, api_key) as darkroom:
            return [event async for event in darkroom.events(generation_id)]

    return asyncio.run(seen())


def seen_blocking(url: str, api_key: str, generation_id: str) -> list[Any]:
    return list(Darkroom(url, api_key).events(generation_id))


@pytest.mark.parametrize("see", [seen_blocking, seen_by_loop])
def test_goes_on_behind_the_last_event(link: Link, api_key: str, see: Callable[..., list[Any]]) -> None:
    link.on_events = one_event
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
