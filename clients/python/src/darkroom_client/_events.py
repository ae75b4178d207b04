"""The events of a generation: a stream that goes on behind the last event when it is cut."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx

from ._calls import BASE_PATH, PATIENT_TRIES, RETRIED_STATUSES, Service, back_off_s, reason_of, retry_after_s
from ._effects import Close, Flow, Open, Pause, Read, Stream
from .errors import ApiError, ConnectionFailed

if TYPE_CHECKING:
    from .types import GenerationEvent

# Streams have a sign of life every 15 s; one that is silent for longer than this is opened again.
_SILENCE_S = 45.0
# A stream that lasts this long is no failed try, whatever ends it.
_LASTING_S = 5.0
_MAX_LENGTH = 4 * 1024 * 1024
_ASKED_S = 1.0


class EventsUnsupported(Exception):
    """The service, or a proxy before it, does not stream events."""


class Events:
    """What has happened to a generation, and then what happens, until it has ended."""

    def __init__(self, service: Service, generation_id: str, last_event_id: str | None = None) -> None:
        self._service = service
        self._url = f"{service.base_url}{BASE_PATH}/generations/{quote(generation_id, safe='')}/events"
        self.last_event_id = last_event_id
        self._stream: Stream | None = None
        self._opened_at = 0.0
        self._text = ""
        self.is_over = False
        self._tries = 0

    def next(self) -> Flow[GenerationEvent | None]:
        """The next event, or None when there are no more. Raises `EventsUnsupported` where there are none at all."""
        while not self.is_over:
            event = yield from self.look()
            if event is not None:
                return event
        return None

    def look(self) -> Flow[GenerationEvent | None]:
        """The same, but None also after a sign of life or a failed try, so that the caller may do something else."""
        if self._stream is None:
            yield from self._open()
            return None
        block, found, rest = self._text.partition("\n\n")
        if found:
            self._text = rest
            return (yield from self._event_of(block))
        try:
            chunk = yield Read(self._stream)
        except httpx.RequestError as error:
            yield from self._cut(error)
            return None
        if chunk is None:
            yield from self._cut(None)
            return None
        self._text = (self._text + chunk).replace("\r\n", "\n")
        if len(self._text) > _MAX_LENGTH:
            raise EventsUnsupported("An event is too long.")
        return None

    def close(self) -> Flow[None]:
        stream, self._stream, self._text = self._stream, None, ""
        if stream is not None:
            yield Close(stream)

    def _open(self) -> Flow[None]:
        self._tries += 1
        headers = {"accept": "text/event-stream", **self._service.credentials()}
        if self.last_event_id is not None:
            headers["last-event-id"] = self.last_event_id
        self._opened_at = time.monotonic()
        try:
            stream: Stream = yield Open(self._url, headers, _SILENCE_S)
        except httpx.RequestError as error:
            yield from self._failed(error)
            return
        response = stream.response
        if response.status_code == 204:
            self.is_over = True
            yield Close(stream)
        elif response.is_success and response.headers.get("content-type", "").startswith("text/event-stream"):
            self._stream = stream
        else:
            text = ""
            while response.is_error and len(text) < _MAX_LENGTH and (chunk := (yield Read(stream))) is not None:
                text += chunk
            yield Close(stream)
            if response.is_success:
                raise EventsUnsupported("Something else than events came.")
            refusal = self._service.refusal_of(response, text)
            if response.status_code not in RETRIED_STATUSES:
                raise refusal if isinstance(refusal, ApiError) else EventsUnsupported(str(refusal))
            if self._tries >= PATIENT_TRIES:
                raise refusal
            yield Pause(retry_after_s(response, self._tries))

    def _event_of(self, block: str) -> Flow[GenerationEvent | None]:
        fields: dict[str, str] = {}
        for line in block.split("\n"):
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            fields[name] = f"{fields['data']}\n{value}" if name == "data" and "data" in fields else value
        if "data" not in fields:
            return None
        event: Any = json.loads(fields["data"])
        self._tries = 0
        self.last_event_id = fields.get("id", self.last_event_id)
        if event["type"] == "ended":
            self.is_over = True
            yield from self.close()
        seen: GenerationEvent = event
        return seen

    def _cut(self, error: httpx.RequestError | None) -> Flow[None]:
        lasted = time.monotonic() - self._opened_at >= _LASTING_S
        yield from self.close()
        if lasted:
            self._tries = 0
        if self._tries >= PATIENT_TRIES:
            # Something between cuts every stream, and no other answers.
            raise EventsUnsupported("Every stream was cut.")
        least = _ASKED_S if error is None else 0.0
        yield Pause(max(least, back_off_s(max(1, self._tries))))

    def _failed(self, error: httpx.RequestError) -> Flow[None]:
        if self._tries >= PATIENT_TRIES:
            raise ConnectionFailed(f"{self._service.base_url} cannot be reached: {reason_of(error)}.") from error
        yield Pause(back_off_s(self._tries))
