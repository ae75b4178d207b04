"""Generations, from the request to the files."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypedDict
from urllib.parse import quote

from ._calls import PATIENT_TRIES, Service
from ._effects import Flow, Pause
from ._events import Events, events_of
from ._media import Downloaded, Reference, download_all, upload
from .errors import ApiError, EventsUnsupported, GenerationFailed, TooExpensive, WaitTimeout

if sys.version_info >= (3, 11):
    from typing import NotRequired
else:
    from typing_extensions import NotRequired

if TYPE_CHECKING:
    from .types import Estimate, GenerationTask, Model

# How long the service may hold an answer back; less than proxies and the request's own limit allow.
_HELD_S = 25
# An answer that came sooner than this was not held back.
_HELD_AT_LEAST_S = 1.0
# Streams of events have a sign of life at least this often, and a bit.
_BEAT_S = 16.0
_MIN_POLL_S = 0.05
_MAX_POLL_S = 60.0
_ENDED = ("succeeded", "failed", "cancelled")


class _Request(TypedDict):
    model_key: str
    prompt: NotRequired[str]
    negative_prompt: NotRequired[str]
    parameters: NotRequired[dict[str, Any]]
    reference_upload_ids: NotRequired[list[str]]
    client_trace_id: NotRequired[str]


class CreateRequest(_Request):
    """A generation request. Models that say so need no prompt."""

    operation: Literal["image_generation", "video_generation"]


class GenerateRequest(_Request):
    """A generation request. Without `operation` it is the model's first one. Models that say so need no prompt."""

    operation: NotRequired[Literal["image_generation", "video_generation"]]


@dataclass(frozen=True)
class Options:
    """How a generation is made."""

    references: Sequence[Reference] = ()
    max_credits: int | None = None
    idempotency_key: str = field(default_factory=lambda: secrets.token_hex(16))
    timeout_s: float | None = None
    on_status: Callable[[GenerationTask], None] | None = None
    cancels: bool = True
    download: bool = True


@dataclass(frozen=True)
class Generated:
    task: GenerationTask
    files: list[Downloaded]
    """In the order of the outputs; empty where nothing was to be downloaded."""


def has_ended(task: GenerationTask) -> bool:
    return "poll_after_ms" not in task or task["status"] in _ENDED


def generate(service: Service, request: GenerateRequest, options: Options) -> Flow[Generated]:
    accepted = yield from start(service, request, options)
    try:
        task = yield from wait(service, accepted, options.timeout_s, options.on_status)
    except GeneratorExit:
        raise
    except BaseException as error:
        # An interrupt or a cancellation: nobody waits for it any more.
        if not isinstance(error, Exception) and options.cancels:
            with suppress(Exception):
                yield from cancel(service, accepted["generation_id"], max_tries=2)
        raise
    if task["status"] != "succeeded":
        raise GenerationFailed(task)
    files = (yield from download_all(task)) if options.download else []
    return Generated(task, files)


def start(service: Service, request: GenerateRequest, options: Options) -> Flow[GenerationTask]:
    """Uploads the references and creates the generation: one, however often requests are repeated."""
    body: dict[str, Any] = dict(request)
    ids = list(request.get("reference_upload_ids", []))
    for reference in options.references:
        upload_id = yield from upload(service, reference, options.idempotency_key)
        # Files of one name, role and content are one upload, which a generation takes once.
        if upload_id not in ids:
            ids.append(upload_id)
    if ids:
        body["reference_upload_ids"] = ids
    if "operation" not in body:
        model: Model = (yield from service.call("GET", f"/models/{quote(request['model_key'], safe='')}")).data
        body["operation"] = model["operations"][0]
    if options.max_credits is not None:
        estimate: Estimate = (yield from service.call("POST", "/generations/estimate", body)).data
        if estimate["estimated_credits"] > options.max_credits:
            raise TooExpensive(estimate["estimated_credits"], options.max_credits)
    return (yield from _create(service, body, options))


def _create(service: Service, body: dict[str, Any], options: Options) -> Flow[GenerationTask]:
    key = options.idempotency_key
    try:
        created: GenerationTask = (yield from service.call("POST", "/generations", body, idempotency_key=key)).data
        return created
    except GeneratorExit:
        raise
    except BaseException as error:
        # It may have been accepted: under its key the same request says so, and it can be cancelled.
        if not isinstance(error, Exception) and options.cancels:
            with suppress(Exception):
                found = yield from service.call("POST", "/generations", body, idempotency_key=key, max_tries=2)
                yield from cancel(service, found.data["generation_id"], max_tries=2)
        raise


def wait(
    service: Service,
    accepted: GenerationTask,
    timeout_s: float | None = None,
    on_status: Callable[[GenerationTask], None] | None = None,
) -> Flow[GenerationTask]:
    """Follows the events; where the service, or a proxy before it, does not stream them, it is polled."""
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    if on_status:
        on_status(accepted)
    seen = _Seen(accepted, on_status)
    try:
        yield from _by_events(service, seen, deadline)
    except ApiError as error:
        if error.code != "ROUTE_NOT_FOUND":
            raise
    except EventsUnsupported:
        pass
    yield from _by_polling(service, seen, deadline)
    return seen.task


@dataclass
class _Seen:
    task: GenerationTask
    on_status: Callable[[GenerationTask], None] | None

    def see(self, task: GenerationTask) -> None:
        changed = task["status"] != self.task["status"]
        self.task = task
        if changed and self.on_status:
            self.on_status(task)


def _by_events(service: Service, seen: _Seen, deadline: float | None) -> Flow[None]:
    """Leaves shortly before the deadline, which polling keeps exactly."""
    if has_ended(seen.task):
        return
    events = events_of(service, seen.task["generation_id"])
    try:
        while not events.is_over and (deadline is None or deadline - time.monotonic() > _BEAT_S):
            event = yield from events.look()
            if event is not None:
                seen.see(event["task"])
    except GeneratorExit:
        raise
    except BaseException:
        with suppress(Exception):
            yield from events.close()
        raise
    yield from events.close()


def _by_polling(service: Service, seen: _Seen, deadline: float | None) -> Flow[None]:
    """Services that can hold an answer back until the end are asked to; others are asked as often as they say."""
    path = f"/generations/{seen.task['generation_id']}"
    # Whether the next request may be sent at once: the first one, and those after an answer that was held back.
    is_held = True
    while not has_ended(seen.task):
        left = _MAX_POLL_S if deadline is None else deadline - time.monotonic()
        if left <= 0:
            raise WaitTimeout(seen.task)
        if not is_held:
            yield Pause(min(left, _MAX_POLL_S, max(_MIN_POLL_S, seen.task["poll_after_ms"] / 1000)))
        headers = {"prefer": f"wait={max(1, min(_HELD_S, int(left)))}"}
        sent_at = time.monotonic()
        answer = yield from service.call("GET", path, headers=headers, max_tries=PATIENT_TRIES)
        took_s = time.monotonic() - sent_at
        is_held = "preference-applied" in answer.headers and took_s >= _HELD_AT_LEAST_S
        seen.see(answer.data)


def cancel(service: Service, generation_id: str, **options: Any) -> Flow[GenerationTask]:
    path = f"/generations/{quote(generation_id, safe='')}/cancel"
    task: GenerationTask = (yield from service.call("POST", path, **options)).data
    return task
