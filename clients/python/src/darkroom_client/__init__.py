"""Calls a Darkroom service."""

from ._generate import Generated, GenerateRequest, has_ended
from ._media import Downloaded, Reference
from .async_client import AsyncDarkroom
from .client import Darkroom
from .errors import (
    ApiError,
    ConnectionFailed,
    DarkroomError,
    GenerationFailed,
    TooExpensive,
    TransferFailed,
    WaitTimeout,
    WebhookVerificationError,
)
from .webhooks import verify_webhook

__all__ = [
    "ApiError",
    "AsyncDarkroom",
    "ConnectionFailed",
    "Darkroom",
    "DarkroomError",
    "Downloaded",
    "GenerateRequest",
    "Generated",
    "GenerationFailed",
    "Reference",
    "TooExpensive",
    "TransferFailed",
    "WaitTimeout",
    "WebhookVerificationError",
    "has_ended",
    "verify_webhook",
]
