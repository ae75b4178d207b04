"""Webhooks of the App, as flows, and as both clients offer them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from . import _requests
from ._calls import Service
from ._effects import Flow
from .errors import ApiError

if TYPE_CHECKING:
    from .types import (
        CreatedWebhook,
        CreateWebhookRequest,
        ListWebhookDeliveriesQuery,
        ReplayWebhookDeliveriesRequest,
        UpdateWebhookRequest,
        Webhook,
        WebhookDelivery,
        WebhookSecret,
    )

#: Names the App's addresses of single generations in place of a webhook's id.
DEFAULT_WEBHOOK = "default"


def _path(webhook_id: str) -> str:
    return f"/webhooks/{quote(webhook_id, safe='')}"


def _create(service: Service, request: CreateWebhookRequest) -> Flow[CreatedWebhook]:
    created: CreatedWebhook = (yield from service.call("POST", "/webhooks", request, max_tries=1)).data
    return created


def _list(service: Service) -> Flow[list[Webhook]]:
    found: list[Webhook] = (yield from service.call("GET", "/webhooks")).data["webhooks"]
    return found


def _get(service: Service, webhook_id: str) -> Flow[Webhook]:
    webhook: Webhook = (yield from service.call("GET", _path(webhook_id))).data
    return webhook


def _update(service: Service, webhook_id: str, change: UpdateWebhookRequest) -> Flow[Webhook]:
    webhook: Webhook = (yield from service.call("PATCH", _path(webhook_id), change)).data
    return webhook


def _delete(service: Service, webhook_id: str) -> Flow[None]:
    try:
        yield from service.call("DELETE", _path(webhook_id))
    except ApiError as error:
        # The answer to a try before this one may have been lost.
        if error.code != "NOT_FOUND":
            raise


def _rotate(service: Service, webhook_id: str) -> Flow[WebhookSecret]:
    secret: WebhookSecret = (yield from service.call("POST", f"{_path(webhook_id)}/secret", max_tries=1)).data
    return secret


def _test(service: Service, webhook_id: str) -> Flow[WebhookDelivery]:
    delivery: WebhookDelivery = (yield from service.call("POST", f"{_path(webhook_id)}/test", max_tries=1)).data
    return delivery


def _replay(service: Service, webhook_id: str, delivery_id: str) -> Flow[WebhookDelivery]:
    path = f"{_path(webhook_id)}/deliveries/{quote(delivery_id, safe='')}/replay"
    delivery: WebhookDelivery = (yield from service.call("POST", path)).data
    return delivery


def _replay_all(service: Service, webhook_id: str, request: ReplayWebhookDeliveriesRequest) -> Flow[int]:
    asked: dict[str, Any] = dict(request)
    replayed = 0
    while True:
        page = (yield from service.call("POST", f"{_path(webhook_id)}/replay", asked)).data
        replayed += int(page["replayed"])
        if "next_cursor" not in page:
            return replayed
        asked["cursor"] = page["next_cursor"]


class Webhooks:
    """The webhooks of the App, for a key with the scope `webhooks:manage`."""

    def __init__(self, service: Service, run: Callable[[Flow[Any]], Any]) -> None:
        self._service = service
        self._run = run

    def create(self, request: CreateWebhookRequest) -> CreatedWebhook:
        """Adds an address; its secret is shown this once.

        Sent once only: after a `ConnectionFailed`, look with `list` whether it is there, and give it a new secret.
        """
        created: CreatedWebhook = self._run(_create(self._service, request))
        return created

    def list(self) -> list[Webhook]:
        found: list[Webhook] = self._run(_list(self._service))
        return found

    def get(self, webhook_id: str) -> Webhook:
        webhook: Webhook = self._run(_get(self._service, webhook_id))
        return webhook

    def update(self, webhook_id: str, change: UpdateWebhookRequest) -> Webhook:
        """Changes what is given."""
        webhook: Webhook = self._run(_update(self._service, webhook_id, change))
        return webhook

    def delete(self, webhook_id: str) -> None:
        """One that is unknown, or gone already, is no error."""
        self._run(_delete(self._service, webhook_id))

    def rotate_secret(self, webhook_id: str) -> WebhookSecret:
        """A new secret for a webhook, or for `DEFAULT_WEBHOOK`; the one before it is valid for a day more.

        Sent once only: a second rotation would end that one at once.
        """
        secret: WebhookSecret = self._run(_rotate(self._service, webhook_id))
        return secret

    def test(self, webhook_id: str) -> WebhookDelivery:
        """Sends a signed test message, once, and answers its delivery."""
        delivery: WebhookDelivery = self._run(_test(self._service, webhook_id))
        return delivery

    def deliveries(
        self, webhook_id: str, query: ListWebhookDeliveriesQuery | None = None
    ) -> Iterator[WebhookDelivery]:
        """Deliveries of a webhook, newest first. Fetches pages as they are needed."""
        asked = dict(query or {})
        while True:
            page = self._run(_requests.page(self._service, f"{_path(webhook_id)}/deliveries", asked))
            yield from page["deliveries"]
            if "next_cursor" not in page:
                return
            asked["cursor"] = page["next_cursor"]

    def replay(self, webhook_id: str, delivery_id: str) -> WebhookDelivery:
        """Sends one delivery again."""
        delivery: WebhookDelivery = self._run(_replay(self._service, webhook_id, delivery_id))
        return delivery

    def replay_all(self, webhook_id: str, request: ReplayWebhookDeliveriesRequest) -> int:
        """Resends the deliveries of a period, and returns their number."""
        return int(self._run(_replay_all(self._service, webhook_id, request)))


class AsyncWebhooks:
    """The same, for the asynchronous client."""

    def __init__(self, service: Service, run: Callable[[Flow[Any]], Awaitable[Any]]) -> None:
        self._service = service
        self._run = run

    async def create(self, request: CreateWebhookRequest) -> CreatedWebhook:
        created: CreatedWebhook = await self._run(_create(self._service, request))
        return created

    async def list(self) -> list[Webhook]:
        found: list[Webhook] = await self._run(_list(self._service))
        return found

    async def get(self, webhook_id: str) -> Webhook:
        webhook: Webhook = await self._run(_get(self._service, webhook_id))
        return webhook

    async def update(self, webhook_id: str, change: UpdateWebhookRequest) -> Webhook:
        webhook: Webhook = await self._run(_update(self._service, webhook_id, change))
        return webhook

    async def delete(self, webhook_id: str) -> None:
        await self._run(_delete(self._service, webhook_id))

    async def rotate_secret(self, webhook_id: str) -> WebhookSecret:
        secret: WebhookSecret = await self._run(_rotate(self._service, webhook_id))
        return secret

    async def test(self, webhook_id: str) -> WebhookDelivery:
        delivery: WebhookDelivery = await self._run(_test(self._service, webhook_id))
        return delivery

    async def deliveries(
        self, webhook_id: str, query: ListWebhookDeliveriesQuery | None = None
    ) -> AsyncIterator[WebhookDelivery]:
        asked: dict[str, Any] = dict(query or {})
        while True:
            page: Mapping[str, Any] = await self._run(
                _requests.page(self._service, f"{_path(webhook_id)}/deliveries", asked)
            )
            for delivery in page["deliveries"]:
                yield delivery
            if "next_cursor" not in page:
                return
            asked["cursor"] = page["next_cursor"]

    async def replay(self, webhook_id: str, delivery_id: str) -> WebhookDelivery:
        delivery: WebhookDelivery = await self._run(_replay(self._service, webhook_id, delivery_id))
        return delivery

    async def replay_all(self, webhook_id: str, request: ReplayWebhookDeliveriesRequest) -> int:
        return int(await self._run(_replay_all(self._service, webhook_id, request)))
