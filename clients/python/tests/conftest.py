"""A started service, and a link to it that cuts connections.

The environment has the service's address and a list of keys, each of an account of its own with 100 credits.
"""

import os
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

KEYS = iter(os.environ["TEST_KEYS"].split(","))


@pytest.fixture
def base_url() -> str:
    return os.environ["TEST_URL"]


@pytest.fixture
def api_key() -> str:
    return next(KEYS)


class CuttingProxy:
    """Cuts the connections of requests whose first line fits, before the service has them or once it has answered."""

    def __init__(self, base_url: str) -> None:
        host, port = base_url.removeprefix("http://").split(":")
        self.service = (host, int(port))
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.line, self.where, self.times = re.compile("(?!)"), "before", 0
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, line: str, where: str, times: int = 1) -> None:
        self.line, self.where, self.times, self.cuts = re.compile(line), where, times, 0

    def close(self) -> None:
        self.listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._join, args=(client,), daemon=True).start()

    def _join(self, client: socket.socket) -> None:
        with client, socket.create_connection(self.service) as service:
            doomed = threading.Event()
            threading.Thread(target=self._back, args=(service, client, doomed), daemon=True).start()
            while chunk := receive(client):
                if self.times > 0 and self.line.match(chunk.split(b"\r\n")[0].decode("latin1")):
                    self.times -= 1
                    self.cuts += 1
                    if self.where == "before":
                        break
                    doomed.set()
                with suppress(OSError):
                    service.sendall(chunk)
            for one in (client, service):
                end(one)

    def _back(self, service: socket.socket, client: socket.socket, doomed: threading.Event) -> None:
        # The service has answered, so that it has done what was asked; the client hears nothing of it.
        while (chunk := receive(service)) and not doomed.is_set():
            with suppress(OSError):
                client.sendall(chunk)
        end(client)


def receive(one: socket.socket) -> bytes:
    try:
        return one.recv(1 << 20)
    except OSError:
        return b""


def end(one: socket.socket) -> None:
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


@pytest.fixture
def proxy(base_url: str) -> Iterator[CuttingProxy]:
    made = CuttingProxy(base_url)
    yield made
    made.close()
