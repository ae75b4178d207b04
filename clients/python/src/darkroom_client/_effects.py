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


@dataclass(frozen=True)
class Open:
    """A stream of text; answers a `Stream` whose headers are there. `silence_s` bounds the wait for each part."""

    url: str
    headers: Mapping[str, str]
    silence_s: float


@dataclass(frozen=True)
class Stream:
    response: httpx.Response
    parts: Any


@dataclass(frozen=True)
class Read:
    """Answers the next part of a stream, None at its end."""

    stream: Stream


@dataclass(frozen=True)
class Close:
    stream: Stream


Effect = Send | Pause | Open | Read | Close
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
            answer = _carry_out(http, effect)
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
            answer = await _carry_out_async(http, effect)
        except BaseException as raised:  # noqa: BLE001
            error = raised


def _carry_out(http: httpx.Client, effect: Effect) -> Any:
    match effect:
        case Send():
            return http.send(_request(http, effect), follow_redirects=effect.follow_redirects)
        case Pause(seconds):
            return time.sleep(seconds)
        case Open():
            response = http.send(_stream_request(http, effect), stream=True)
            return Stream(response, response.iter_text())
        case Read(stream):
            return next(stream.parts, None)
        case Close(stream):
            return stream.response.close()


async def _carry_out_async(http: httpx.AsyncClient, effect: Effect) -> Any:
    match effect:
        case Send():
            return await http.send(_request(http, effect), follow_redirects=effect.follow_redirects)
        case Pause(seconds):
            return await asyncio.sleep(seconds)
        case Open():
            response = await http.send(_stream_request(http, effect), stream=True)
            return Stream(response, response.aiter_text())
        case Read(stream):
            return await anext(stream.parts, None)
        case Close(stream):
            return await stream.response.aclose()


def _stream_request(http: httpx.Client | httpx.AsyncClient, effect: Open) -> httpx.Request:
    timeout = httpx.Timeout(60.0, read=effect.silence_s)
    return http.build_request("GET", effect.url, headers=dict(effect.headers), timeout=timeout)


def _request(http: httpx.Client | httpx.AsyncClient, send: Send) -> httpx.Request:
    return http.build_request(
        send.method, send.url, headers=dict(send.headers), content=send.content, timeout=send.timeout_s
    )
