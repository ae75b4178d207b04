"""What the library does is written once, as generators that yield effects: requests, and pauses between them.

A blocking and an asynchronous runner carry them out. An error of a request is raised in the generator, at its yield.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx

T = TypeVar("T")


@dataclass(frozen=True)
class Send:
    """One HTTP request; answers its whole response."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None
    timeout_s: float = 60.0
    follow_redirects: bool = False


@dataclass(frozen=True)
class Pause:
    seconds: float


Effect = Send | Pause
Flow = Generator[Effect, Any, T]


def run(http: httpx.Client, flow: Flow[T]) -> T:
    """Carries a flow out, blocking. An interrupt reaches the flow, which may clean up before it raises it again."""
    answer: Any = None
    error: BaseException | None = None
    while True:
        try:
            effect = flow.send(answer) if error is None else flow.throw(error)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        answer, error = None, None
        try:
            if isinstance(effect, Pause):
                time.sleep(effect.seconds)
            else:
                answer = http.send(_request(http, effect), follow_redirects=effect.follow_redirects)
        except BaseException as raised:  # noqa: BLE001
            error = raised


async def run_async(http: httpx.AsyncClient, flow: Flow[T]) -> T:
    """The same on an event loop. A cancellation of the task reaches the flow."""
    answer: Any = None
    error: BaseException | None = None
    while True:
        try:
            effect = flow.send(answer) if error is None else flow.throw(error)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        answer, error = None, None
        try:
            if isinstance(effect, Pause):
                await asyncio.sleep(effect.seconds)
            else:
                answer = await http.send(_request(http, effect), follow_redirects=effect.follow_redirects)
        except BaseException as raised:  # noqa: BLE001
            error = raised


def _request(http: httpx.Client | httpx.AsyncClient, send: Send) -> httpx.Request:
    return http.build_request(
        send.method, send.url, headers=dict(send.headers), content=send.content, timeout=send.timeout_s
    )
