"""Calls a Darkroom service."""

from ._events import SeenEvent
from ._generate import CreateRequest, Generated, GenerateRequest, has_ended
from ._media import Downloaded, Reference
from ._webhooks import DEFAULT_WEBHOOK, AsyncWebhooks, Webhooks
from .async_client import AsyncDarkroom
from .client import Darkroom
from .errors import (
    ApiError,
    ConnectionFailed,
    DarkroomError,
    EventsUnsupported,
    GenerationFailed,
    TooExpensive,
    TransferFailed,
    WaitTimeout,
    WebhookVerificationError,
)
from .webhooks import verify_webhook

__all__ = [
    "DEFAULT_WEBHOOK",
    "ApiError",
    "AsyncDarkroom",
    "AsyncWebhooks",
    "ConnectionFailed",
    "CreateRequest",
    "Darkroom",
    "DarkroomError",
    "Downloaded",
    "EventsUnsupported",
    "GenerateRequest",
    "Generated",
    "GenerationFailed",
    "Reference",
    "SeenEvent",
    "TooExpensive",
    "TransferFailed",
    "WaitTimeout",
    "WebhookVerificationError",
    "Webhooks",
    "has_ended",
    "verify_webhook",
]
