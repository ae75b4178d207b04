"""The single calls, as flows: what both clients offer under the same names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from ._calls import BASE_PATH, Service
from ._effects import Flow
from .errors import ApiError

if TYPE_CHECKING:
    from ._generate import CreateRequest
    from .types import Balance, Estimate, GenerationTask, Model, OutputThumbnails, Upload


def service_of(base_url: str, api_key: str | None) -> Service:
    if not base_url.startswith(("http://", "https://")):
        raise ValueError("base_url must be an http or https URL.")
    if api_key is not None and not (0 < len(api_key) <= 512 and all("!" <= one <= "~" for one in api_key)):
        raise ValueError("api_key must be one word of visible ASCII characters.")
    # Documentation of the API writes addresses with its path.
    return Service(base_url.rstrip("/").removesuffix(BASE_PATH).rstrip("/"), api_key)


def models(service: Service) -> Flow[list[Model]]:
    found: list[Model] = (yield from service.call("GET", "/models")).data["models"]
    return found


def model(service: Service, model_key: str) -> Flow[Model]:
    found: Model = (yield from service.call("GET", f"/models/{quote(model_key, safe='')}")).data
    return found


def credits(service: Service) -> Flow[Balance]:
    balance: Balance = (yield from service.call("GET", "/credits")).data
    return balance


def estimate(service: Service, request: CreateRequest) -> Flow[Estimate]:
    answer: Estimate = (yield from service.call("POST", "/generations/estimate", request)).data
    return answer


def create(
    service: Service, request: CreateRequest, key: str, webhook_url: str | None = None
) -> Flow[GenerationTask]:
    headers = None if webhook_url is None else {"darkroom-webhook-url": webhook_url}
    answer = yield from service.call("POST", "/generations", request, idempotency_key=key, headers=headers)
    task: GenerationTask = answer.data
    return task


def generation(service: Service, generation_id: str) -> Flow[GenerationTask]:
    task: GenerationTask = (yield from service.call("GET", f"/generations/{quote(generation_id, safe='')}")).data
    return task


def thumbnails(service: Service, generation_id: str) -> Flow[list[OutputThumbnails]]:
    path = f"/generations/{quote(generation_id, safe='')}/thumbnails"
    found: list[OutputThumbnails] = (yield from service.call("GET", path)).data["outputs"]
    return found


def page(service: Service, path: str, query: Mapping[str, Any]) -> Flow[Any]:
    """One page of a list."""
    given = {name: value for name, value in query.items() if value is not None}
    return (yield from service.call("GET", f"{path}?{urlencode(given)}" if given else path)).data


def delete_generation(service: Service, generation_id: str) -> Flow[None]:
    yield from _remove(service, f"/generations/{quote(generation_id, safe='')}", "GENERATION_JOB_NOT_FOUND")


def delete_upload(service: Service, upload_id: str) -> Flow[None]:
    yield from _remove(service, f"/uploads/{quote(upload_id, safe='')}", "NOT_FOUND")


def _remove(service: Service, path: str, gone: str) -> Flow[None]:
    try:
        yield from service.call("DELETE", path)
    except ApiError as error:
        # The answer to a try before this one may have been lost.
        if error.code != gone:
            raise


def upload_state(service: Service, upload_id: str) -> Flow[Upload]:
    state: Upload = (yield from service.call("GET", f"/uploads/{quote(upload_id, safe='')}")).data
    return state
