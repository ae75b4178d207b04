"""The client for an event loop: every method of the blocking one, as a coroutine."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

import httpx

from . import _generate, _media, _requests
from ._calls import PATIENT_TRIES
from ._effects import Flow, T, run_async
from ._events import Events, SeenEvent, app_events, events_of
from ._generate import CreateRequest, Generated, GenerateRequest, Options
from ._media import Downloaded, Reference, references_of
from ._webhooks import AsyncWebhooks

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


class AsyncDarkroom:
    """The API of a Darkroom service. Refusals are raised as `ApiError`, missing answers as `ConnectionFailed`.

    `http` is an `httpx.AsyncClient` of yours, with proxies or certificates; it stays open.
    """

    def __init__(self, base_url: str, api_key: str | None = None, *, http: httpx.AsyncClient | None = None) -> None:
        self._service = _requests.service_of(base_url, api_key)
        self._owned = httpx.AsyncClient() if http is None else None
        self._http = http or self._owned or httpx.AsyncClient()
        self.webhooks = AsyncWebhooks(self._service, self._run)

    async def __aenter__(self) -> AsyncDarkroom:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        if self._owned:
            await self._owned.aclose()

    async def generate(
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

        However often requests are repeated, one generation is created. A cancellation of the task asks for one of the
        generation, unless `cancels` is False. Raises `GenerationFailed` if it ends without a success.
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
        return await self._run(_generate.generate(self._service, request, options))

    @asynccontextmanager
    async def started(
        self,
        request: GenerateRequest,
        *,
        references: Sequence[File] = (),
        max_credits: int | None = None,
        idempotency_key: str | None = None,
    ) -> AsyncIterator[GenerationTask]:
        """A generation that is cancelled when the block is left before it has ended."""
        key = idempotency_key or secrets.token_hex(16)
        options = Options(references=references_of(references), max_credits=max_credits, idempotency_key=key)
        task = await self._run(_generate.start(self._service, request, options))
        try:
            yield task
        finally:
            with suppress(Exception):
                # On one that has ended it changes nothing.
                await self._run(_generate.cancel(self._service, task["generation_id"], max_tries=2))

    def events(self, generation_id: str, *, last_event_id: str | None = None) -> AsyncGenerator[SeenEvent, None]:
        """What has happened to a generation, and then what happens, until it has ended.

        A stream that is cut goes on behind the last event; with `last_event_id` it begins behind that one.
        """
        return self._followed(events_of(self._service, generation_id, last_event_id))

    def app_events(
        self, *, last_event_id: str | None = None, max_tries: int = PATIENT_TRIES
    ) -> AsyncGenerator[SeenEvent, None]:
        """What happens to all generations of the App from now on, without end.

        A stream that is cut goes on where it was; with the `last_event_id` of an event of the last day it begins behind
        that one, and with some events before it. After `max_tries` failures in a row it raises `ConnectionFailed`.
        """
        return self._followed(app_events(self._service, last_event_id, max_tries))

    async def wait(
        self,
        task: GenerationTask,
        *,
        timeout_s: float | None = None,
        on_status: Callable[[GenerationTask], None] | None = None,
    ) -> GenerationTask:
        """Waits until a generation has ended, and answers how it did, a failure included."""
        return await self._run(_generate.wait(self._service, task, timeout_s, on_status))

    async def models(self) -> list[Model]:
        return await self._run(_requests.models(self._service))

    async def model(self, model_key: str) -> Model:
        return await self._run(_requests.model(self._service, model_key))

    async def credits(self) -> Balance:
        return await self._run(_requests.credits(self._service))

    async def estimate(self, request: CreateRequest) -> Estimate:
        """What a create with this request would reserve. Nothing is kept."""
        return await self._run(_requests.estimate(self._service, request))

    async def create_generation(
        self, request: CreateRequest, *, idempotency_key: str | None = None, webhook_url: str | None = None
    ) -> GenerationTask:
        """Creates a generation and answers it as accepted: `wait` follows it to its end.

        `webhook_url` is told of its end; that needs the scope `webhooks:manage`, and the App's default secret.
        """
        key = idempotency_key or secrets.token_hex(16)
        return await self._run(_requests.create(self._service, request, key, webhook_url))

    async def generation(self, generation_id: str) -> GenerationTask:
        return await self._run(_requests.generation(self._service, generation_id))

    async def generations(self, query: ListGenerationsQuery | None = None) -> AsyncIterator[GenerationTask]:
        """Generations of the App, newest first. Fetches pages as they are needed; `limit` is the size of a page."""
        async for task in self._each("/generations", "generations", query):
            yield task

    async def thumbnails(self, generation_id: str) -> list[OutputThumbnails]:
        """Addresses of small pictures of the outputs, which work without a credential until the end of the next UTC day."""
        return await self._run(_requests.thumbnails(self._service, generation_id))

    async def credit_entries(self, query: ListCreditEntriesQuery | None = None) -> AsyncIterator[LedgerEntry]:
        """The ledger of the account, newest entry first, in pages like `generations`."""
        async for entry in self._each("/credits/entries", "entries", query):
            yield entry

    async def usage(self, query: GetUsageQuery | None = None) -> AsyncIterator[UsageRow]:
        """What the account used: a row for each day, model, key or client_trace_id with use, in pages like `generations`."""
        async for row in self._each("/usage", "usage", query):
            yield row

    async def usage_page(self, query: GetUsageQuery | None = None) -> Usage:
        """One page of `usage`, with the total of all pages."""
        page: Usage = await self._run(_requests.page(self._service, "/usage", query or {}))
        return page

    async def cancel(self, generation_id: str) -> GenerationTask:
        """Asks for a cancel. A generation that is running may still succeed, and may cost."""
        return await self._run(_generate.cancel(self._service, generation_id))

    async def delete_generation(self, generation_id: str) -> None:
        """Removes the prompt and the outputs of a generation that has ended, for good.

        One that is gone already is no error; one that has not ended is refused with `CONFLICT`.
        """
        await self._run(_requests.delete_generation(self._service, generation_id))

    async def upload(self, file: File, *, intent: str | None = None) -> str:
        """Uploads a reference file and answers the id for `reference_upload_ids`."""
        [reference] = references_of([file])
        return await self._run(_media.upload(self._service, reference, intent or secrets.token_hex(16)))

    async def delete_upload(self, upload_id: str) -> None:
        """Removes an upload that no generation was created with. One that is unknown, or gone already, is no error."""
        await self._run(_requests.delete_upload(self._service, upload_id))

    async def upload_state(self, upload_id: str) -> Upload:
        return await self._run(_requests.upload_state(self._service, upload_id))

    async def download(self, output: Output) -> Downloaded:
        """The verified bytes of an output."""
        return await self._run(_media.download(output))

    async def _followed(self, stream: Events) -> AsyncGenerator[SeenEvent, None]:
        try:
            while event := await self._run(stream.next()):
                yield event
        finally:
            await self._run(stream.close())

    async def _run(self, flow: Flow[T]) -> T:
        return await run_async(self._http, flow)

    async def _each(self, path: str, name: str, query: Mapping[str, Any] | None) -> AsyncIterator[Any]:
        asked = dict(query or {})
        while True:
            page = await self._run(_requests.page(self._service, path, asked))
            for one in page[name]:
                yield one
            if "next_cursor" not in page:
                return
            asked["cursor"] = page["next_cursor"]
