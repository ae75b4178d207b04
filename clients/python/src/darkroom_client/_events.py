"""The events of a generation, or of all of an App: a stream that goes on behind the last event when it is cut."""

from __future__ import annotations

import json
import time
from typing import Any
from urllib.parse import quote

import httpx

from ._calls import BASE_PATH, PATIENT_TRIES, RETRIED_STATUSES, Service, back_off_s, retry_after_s
from ._effects import Close, Flow, Open, Pause, Read, Stream
from ._reasons import is_hopeless, reason_of
from .errors import ApiError, ConnectionFailed, EventsUnsupported
from .types import GenerationEvent

# Streams have a sign of life every 15 s; one that is silent for longer than this is opened again.
_SILENCE_S = 45.0
# A stream that lasts this long is no failed try, whatever ends it.
_LASTING_S = 5.0
_MAX_LENGTH = 4 * 1024 * 1024
_ASKED_S = 1.0
# Of streams that may open soon: those of a service, and those of a proxy before one that is restarted.
_BUSY_STATUSES = RETRIED_STATUSES | {502, 504}
# How many events are remembered, so that those that come again after a cut are left out.
_MAX_REMEMBERED = 10_000


class SeenEvent(GenerationEvent):
    """An event, and its id for `last_event_id`."""

    id: str | None


def events_of(service: Service, generation_id: str, last_event_id: str | None = None) -> Events:
    """What has happened to a generation, and then what happens, until it has ended."""
    return Events(service, f"/generations/{quote(generation_id, safe='')}/events", last_event_id)


def app_events(service: Service, last_event_id: str | None = None, max_tries: int = PATIENT_TRIES) -> Events:
    """What happens to all generations of the App, without end."""
    return Events(service, "/events", last_event_id, max_tries=max_tries, of_app=True)


class Events:
    """A stream of events, opened again when it is cut. Of the last 10,000 of an App none is given twice."""

    def __init__(
        self,
        service: Service,
        path: str,
        last_event_id: str | None = None,
        *,
        max_tries: int = PATIENT_TRIES,
        of_app: bool = False,
    ) -> None:
        self._service = service
        self._url = f"{service.base_url}{BASE_PATH}{path}"
        self._max_tries = max_tries
        self._of_app = of_app
        self._given: dict[tuple[str, str, float | None], None] = {}
        self.last_event_id = last_event_id
        self._stream: Stream | None = None
        self._opened_at = 0.0
        self._text = ""
        self.is_over = False
        self._tries = 0
        self._has_come = False

    def next(self) -> Flow[SeenEvent | None]:
        """The next event, or None when there are no more. Raises `EventsUnsupported` where there are none at all."""
        while not self.is_over:
            event = yield from self.look()
            if event is not None:
                return event
        return None

    def look(self) -> Flow[SeenEvent | None]:
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
            yield from self._require_any(error)
            yield from self._cut(error)
            return None
        if chunk is None:
            yield from self._cut(None)
            return None
        self._has_come = True
        self._text = (self._text + chunk).replace("\r\n", "\n")
        if len(self._text) > _MAX_LENGTH:
            raise _unsupported("an event is too long")
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
            yield from self._require_any(error)
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
                raise _unsupported("something else came")
            refusal = self._service.refusal_of(response, text)
            if response.status_code not in _BUSY_STATUSES:
                raise refusal if isinstance(refusal, ApiError) else EventsUnsupported(str(refusal))
            if self._tries >= self._max_tries:
                raise refusal
            yield Pause(retry_after_s(response, self._tries))

    def _event_of(self, block: str) -> Flow[SeenEvent | None]:
        fields: dict[str, str] = {}
        for line in block.split("\n"):
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            fields[name] = f"{fields['data']}\n{value}" if name == "data" and "data" in fields else value
        self.last_event_id = fields.get("id", self.last_event_id)
        if "data" not in fields:
            return None
        event: Any = json.loads(fields["data"])
        self._tries = 0
        if self._of_app:
            if self._was_given(event):
                return None
        elif event["type"] == "ended":
            self.is_over = True
            yield from self.close()
        event["id"] = fields.get("id")
        seen: SeenEvent = event
        return seen

    def _was_given(self, event: Any) -> bool:
        name = (event["task"]["generation_id"], event["type"], event.get("progress"))
        if name in self._given:
            return True
        self._given[name] = None
        if len(self._given) > _MAX_REMEMBERED:
            del self._given[next(iter(self._given))]
        return False

    def _require_any(self, error: httpx.RequestError) -> Flow[None]:
        if isinstance(error, httpx.ReadTimeout) and not self._has_come:
            yield from self.close()
            raise _unsupported("nothing came") from error

    def _cut(self, error: httpx.RequestError | None) -> Flow[None]:
        lasted = time.monotonic() - self._opened_at >= _LASTING_S
        yield from self.close()
        if lasted:
            self._tries = 0
        if self._tries >= self._max_tries:
            # Something between cuts every stream, and no other answers.
            raise _unsupported("every stream was cut")
        least = _ASKED_S if error is None else 0.0
        yield Pause(max(least, back_off_s(max(1, self._tries))))

    def _failed(self, error: httpx.RequestError) -> Flow[None]:
        if self._tries >= self._max_tries or is_hopeless(error):
            raise ConnectionFailed(f"{self._service.base_url} cannot be reached: {reason_of(error)}.") from error
        yield Pause(back_off_s(self._tries))


def _unsupported(why: str) -> EventsUnsupported:
    return EventsUnsupported(f"The service, or a proxy before it, does not stream events: {why}.")
