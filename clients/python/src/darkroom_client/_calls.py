"""Calls of the REST interface, sent again where that has no second effect."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from typing import Any

import httpx

from ._effects import Flow, Pause, Send
from ._reasons import is_hopeless, reason_of
from .errors import ApiError, ConnectionFailed, DarkroomError

BASE_PATH = "/api/v1/developer"
# How often a request is sent at most, the first time included.
MAX_TRIES = 6
# The same for waits on an accepted generation: about a minute in all, so that a server may restart meanwhile.
PATIENT_TRIES = 14
RETRIED_STATUSES = frozenset((429, 503))
_MAX_RETRY_AFTER_S = 30


@dataclass(frozen=True)
class Service:
    """Where calls go, and as whom."""

    base_url: str
    api_key: str | None

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        idempotency_key: str | None = None,
        headers: dict[str, str] | None = None,
        max_tries: int = MAX_TRIES,
    ) -> Flow[Answer]:
        """Raises `ApiError` for a refusal, and `ConnectionFailed` when no answer came."""
        sent = {"accept": "application/json", **(headers or {}), **self.credentials()}
        if idempotency_key is not None:
            sent["idempotency-key"] = idempotency_key
        content = None
        if body is not None:
            sent["content-type"] = "application/json"
            content = json.dumps(body, ensure_ascii=False).encode()
        request = Send(method, f"{self.base_url}{BASE_PATH}{path}", sent, content)
        tries = 0
        while True:
            tries += 1
            try:
                response: httpx.Response = yield request
            except httpx.RequestError as error:
                if tries >= max_tries or is_hopeless(error):
                    reason = f"{self.base_url} cannot be reached: {reason_of(error)}."
                    raise ConnectionFailed(reason, idempotency_key) from error
                yield Pause(back_off_s(tries))
                continue
            envelope = _envelope(response.content)
            if response.is_success and envelope and envelope["success"]:
                return Answer(envelope.get("data"), response.headers)
            in_progress = envelope is not None and envelope["code"] == "IDEMPOTENCY_IN_PROGRESS"
            if tries >= max_tries or not (response.status_code in RETRIED_STATUSES or in_progress):
                raise self._refusal(response, envelope, idempotency_key)
            yield Pause(retry_after_s(response, tries))

    def credentials(self) -> dict[str, str]:
        return {} if self.api_key is None else {"authorization": f"Bearer {self.api_key}"}

    def refusal_of(self, response: httpx.Response, text: str) -> DarkroomError:
        return self._refusal(response, _envelope(text), None)

    def _refusal(
        self, response: httpx.Response, envelope: dict[str, Any] | None, idempotency_key: str | None
    ) -> DarkroomError:
        status = response.status_code
        if envelope and not envelope["success"]:
            code, reason, request_id = (str(envelope.get(name, "")) for name in ("code", "message", "request_id"))
            available = response.headers.get("darkroom-credits-available")
            credits = None if available is None else int(available)
            return ApiError(status, code, reason, request_id, idempotency_key, credits)
        reason = f"{self.base_url} answered with status {status} and not as a Darkroom service does; check the address."
        return ConnectionFailed(reason, idempotency_key)


@dataclass(frozen=True)
class Answer:
    data: Any
    headers: httpx.Headers

    @property
    def replayed(self) -> bool:
        """Whether an earlier request with this key was accepted."""
        return bool(self.headers.get("idempotency-replayed") == "true")


def send_patiently(request: Send, what: str, failure: type[DarkroomError], max_tries: int) -> Flow[httpx.Response]:
    """Sends bytes to or from a signed address, which carries no credential."""
    tries = 0
    while True:
        tries += 1
        try:
            response: httpx.Response = yield request
        except httpx.RequestError as error:
            if tries >= max_tries or is_hopeless(error):
                raise failure(f"{what}: {reason_of(error)}.") from error
            yield Pause(back_off_s(tries))
            continue
        if response.is_success:
            return response
        if tries >= max_tries or response.status_code not in RETRIED_STATUSES:
            raise failure(f"{what}: its address answered with status {response.status_code}.")
        yield Pause(retry_after_s(response, tries))


def back_off_s(tries: int) -> float:
    """Before try number `tries` + 1 if the server does not say: doubled each time, with random jitter."""
    return min(8.0, 0.25 * 2.0 ** (tries - 1)) * random.uniform(0.5, 1.0)


def retry_after_s(response: httpx.Response, tries: int) -> float:
    asked = response.headers.get("retry-after", "")
    return min(int(asked), _MAX_RETRY_AFTER_S) if re.fullmatch(r"[0-9]{1,6}", asked) else back_off_s(tries)


def _envelope(text: str | bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    is_ours = isinstance(value, dict) and isinstance(value.get("success"), bool) and isinstance(value.get("code"), str)
    return value if is_ours else None
