"""The blocking client."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

import httpx

from . import _generate, _media, _requests
from ._calls import PATIENT_TRIES
from ._effects import Flow, T, run
from ._events import Events, SeenEvent, app_events, events_of
from ._generate import CreateRequest, Generated, GenerateRequest, Options
from ._media import Downloaded, Reference, references_of
from ._webhooks import Webhooks

if TYPE_CHECKING:
    from .types import (
        Balance,
        Estimate,
        GenerationTask,
        GetUsageQuery,
        LedgerEntry,
        ListCreditEntriesQuery,
        ListGenerationsQuery,
        Model,
        Output,
        OutputThumbnails,
        Upload,
        Usage,
        UsageRow,
    )

File = Reference | str | os.PathLike[str] | bytes


class Darkroom:
    """The API of a Darkroom service. Refusals are raised as `ApiError`, missing answers as `ConnectionFailed`.

    `http` is an `httpx.Client` of yours, with proxies or certificates; it stays open.
    """

    def __init__(self, base_url: str, api_key: str | None = None, *, http: httpx.Client | None = None) -> None:
        self._service = _requests.service_of(base_url, api_key)
        self._owned = httpx.Client() if http is None else None
        self._http = http or self._owned or httpx.Client()
        self.webhooks = Webhooks(self._service, self._run)

    def __enter__(self) -> Darkroom:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        if self._owned:
            self._owned.close()

    def generate(
        self,
        request: GenerateRequest,
        *,
        references: Sequence[File] = (),
        max_credits: int | None = None,
        idempotency_key: str | None = None,
        timeout_s: float | None = None,
        on_status: Callable[[GenerationTask], None] | None = None,
        cancels: bool = True,
        download: bool = True,
    ) -> Generated:
        """Makes pictures or a video: uploads, creates, waits for the end and downloads.

        However often requests are repeated, one generation is created. An interrupt (Ctrl-C) asks for a cancel, unless
        `cancels` is False. Raises `GenerationFailed` if it ends without a success.
        """
        options = Options(
            references=references_of(references),
            max_credits=max_credits,
            idempotency_key=idempotency_key or secrets.token_hex(16),
            timeout_s=timeout_s,
            on_status=on_status,
            cancels=cancels,
            download=download,
        )
        return self._run(_generate.generate(self._service, request, options))

    @contextmanager
    def started(
        self,
        request: GenerateRequest,
        *,
        references: Sequence[File] = (),
        max_credits: int | None = None,
        idempotency_key: str | None = None,
    ) -> Iterator[GenerationTask]:
        """A generation that is cancelled when the block is left before it has ended."""
        key = idempotency_key or secrets.token_hex(16)
        options = Options(references=references_of(references), max_credits=max_credits, idempotency_key=key)
        task = self._run(_generate.start(self._service, request, options))
        try:
            yield task
        finally:
            with suppress(Exception):
                # On one that has ended it changes nothing.
                self._run(_generate.cancel(self._service, task["generation_id"], max_tries=2))

    def events(self, generation_id: str, *, last_event_id: str | None = None) -> Generator[SeenEvent, None, None]:
        """What has happened to a generation, and then what happens, until it has ended.

        A stream that is cut goes on behind the last event; with `last_event_id` it begins behind that one.
        """
        return self._followed(events_of(self._service, generation_id, last_event_id))

    def app_events(
        self, *, last_event_id: str | None = None, max_tries: int = PATIENT_TRIES
    ) -> Generator[SeenEvent, None, None]:
        """What happens to all generations of the App from now on, without end.

        A stream that is cut goes on where it was; with the `last_event_id` of an event of the last day it begins behind
        that one, and with some events before it. After `max_tries` failures in a row it raises `ConnectionFailed`.
        """
        return self._followed(app_events(self._service, last_event_id, max_tries))

    def wait(
        self,
        task: GenerationTask,
        *,
        timeout_s: float | None = None,
        on_status: Callable[[GenerationTask], None] | None = None,
    ) -> GenerationTask:
        """Waits until a generation has ended, and answers how it did, a failure included."""
        return self._run(_generate.wait(self._service, task, timeout_s, on_status))

    def models(self) -> list[Model]:
        return self._run(_requests.models(self._service))

    def model(self, model_key: str) -> Model:
        return self._run(_requests.model(self._service, model_key))

    def credits(self) -> Balance:
        return self._run(_requests.credits(self._service))

    def estimate(self, request: CreateRequest) -> Estimate:
        """What a create with this request would reserve. Nothing is kept."""
        return self._run(_requests.estimate(self._service, request))

    def create_generation(
        self, request: CreateRequest, *, idempotency_key: str | None = None, webhook_url: str | None = None
    ) -> GenerationTask:
        """Creates a generation and answers it as accepted: `wait` follows it to its end.

        `webhook_url` is told of its end; that needs the scope `webhooks:manage`, and the App's default secret.
        """
        key = idempotency_key or secrets.token_hex(16)
        return self._run(_requests.create(self._service, request, key, webhook_url))

    def generation(self, generation_id: str) -> GenerationTask:
        return self._run(_requests.generation(self._service, generation_id))

    def generations(self, query: ListGenerationsQuery | None = None) -> Iterator[GenerationTask]:
        """Generations of the App, newest first. Fetches pages as they are needed; `limit` is the size of a page."""
        yield from self._each("/generations", "generations", query)

    def thumbnails(self, generation_id: str) -> list[OutputThumbnails]:
        """Addresses of small pictures of the outputs, which work without a credential until the end of the next UTC day."""
        return self._run(_requests.thumbnails(self._service, generation_id))

    def credit_entries(self, query: ListCreditEntriesQuery | None = None) -> Iterator[LedgerEntry]:
        """The ledger of the account, newest entry first, in pages like `generations`."""
        yield from self._each("/credits/entries", "entries", query)

    def usage(self, query: GetUsageQuery | None = None) -> Iterator[UsageRow]:
        """What the account used: a row for each day, model, key or client_trace_id with use, in pages like `generations`."""
        yield from self._each("/usage", "usage", query)

    def usage_page(self, query: GetUsageQuery | None = None) -> Usage:
        """One page of `usage`, with the total of all pages."""
        page: Usage = self._run(_requests.page(self._service, "/usage", query or {}))
        return page

    def cancel(self, generation_id: str) -> GenerationTask:
        """Asks for a cancel. A generation that is running may still succeed, and may cost."""
        return self._run(_generate.cancel(self._service, generation_id))

    def delete_generation(self, generation_id: str) -> None:
        """Removes the prompt and the outputs of a generation that has ended, for good.

        One that is gone already is no error; one that has not ended is refused with `CONFLICT`.
        """
        self._run(_requests.delete_generation(self._service, generation_id))

    def upload(self, file: File, *, intent: str | None = None) -> str:
        """Uploads a reference file and answers the id for `reference_upload_ids`."""
        [reference] = references_of([file])
        return self._run(_media.upload(self._service, reference, intent or secrets.token_hex(16)))

    def delete_upload(self, upload_id: str) -> None:
        """Removes an upload that no generation was created with. One that is unknown, or gone already, is no error."""
        self._run(_requests.delete_upload(self._service, upload_id))

    def upload_state(self, upload_id: str) -> Upload:
        return self._run(_requests.upload_state(self._service, upload_id))

    def download(self, output: Output) -> Downloaded:
        """The verified bytes of an output."""
        return self._run(_media.download(output))

    def _followed(self, stream: Events) -> Generator[SeenEvent, None, None]:
        try:
            while event := self._run(stream.next()):
                yield event
        finally:
            self._run(stream.close())

    def _run(self, flow: Flow[T]) -> T:
        return run(self._http, flow)

    def _each(self, path: str, name: str, query: Mapping[str, Any] | None) -> Iterator[Any]:
        asked = dict(query or {})
        while True:
            page = self._run(_requests.page(self._service, path, asked))
            yield from page[name]
            if "next_cursor" not in page:
                return
            asked["cursor"] = page["next_cursor"]
