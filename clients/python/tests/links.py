"""A link to the service that answers, cuts or passes on the requests for events."""

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


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
        self.begun = threading.Event()
        """Set once the service has begun to send events: what is created after that is told."""


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
            answer = urllib.request.urlopen(request)
            if self.path.endswith("/events"):
                self.server.begun.set()
            return answer
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


def cut_after(handler: Any, count: int) -> bool:
    """So many events, and half of another one."""
    with handler.opened() as answer:
        handler.send_response(answer.status)
        if answer.status == 204:
            handler.end_headers()
            return True
        handler.send_header("content-type", answer.headers["content-type"])
        handler.end_headers()
        while count > 0 and (line := answer.readline()):
            handler.wfile.write(line)
            handler.wfile.flush()
            if line.startswith(b"data: "):
                count -= 1
        handler.wfile.write(b"\nid: 99\nevent: ended\nda")
    return True
