"""Webhooks that are signed by the Standard Webhooks scheme."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from .errors import WebhookVerificationError

_PREFIX = "whsec_"
_TOLERANCE_SECONDS = 5 * 60
# Signatures of one message that are looked at; a rotation makes two.
_MAX_SIGNATURES = 16
_NOT_SECRET = "A webhook secret is whsec_ and base64."


def verify_webhook(
    body: str | bytes,
    headers: Mapping[str, str],
    secrets: str | Sequence[str],
    *,
    tolerance_seconds: float = _TOLERANCE_SECONDS,
    now: float | None = None,
) -> Any:
    """Checks a webhook and answers its parsed body. Give it the body as it was received, not parsed and written again.

    `now` is in seconds since 1970, the present when absent. Raises `WebhookVerificationError`.
    """
    if not isinstance(body, (str, bytes, bytearray, memoryview)):
        raise TypeError("The body of a webhook must be the text or the bytes that were received, not parsed.")
    given_secrets = [secrets] if isinstance(secrets, str) else list(secrets or ())
    if not given_secrets or not all(isinstance(secret, str) for secret in given_secrets):
        raise ValueError(_NOT_SECRET)
    named = {name.lower(): value for name, value in headers.items()}
    values = [named.get(f"webhook-{name}") for name in ("id", "timestamp", "signature")]
    message, timestamp, signatures = (value or "" for value in values)
    if not message or not signatures:
        raise WebhookVerificationError("The webhook is not signed.")
    moment = time.time() if now is None else now
    if not re.fullmatch(r"[0-9]{1,12}", timestamp) or abs(moment - int(timestamp)) > tolerance_seconds:
        raise WebhookVerificationError("The webhook was not signed within the last minutes.")
    content = body.encode() if isinstance(body, str) else bytes(body)
    signed = f"{message}.{timestamp}.".encode() + content
    given = [entry[3:].encode() for entry in signatures.split(" ")[:_MAX_SIGNATURES] if entry.startswith("v1,")]
    for secret in given_secrets:
        expected = base64.b64encode(hmac.new(_key_of(secret), signed, hashlib.sha256).digest())
        if any(hmac.compare_digest(expected, one) for one in given):
            return _parsed(content)
    raise WebhookVerificationError("No signature of the webhook fits: it has another secret, or the body is not as it was sent.")


def _key_of(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except binascii.Error:
        key = b""
    if not key:
        raise ValueError(_NOT_SECRET)
    return key


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError as error:
        raise WebhookVerificationError("The body of the webhook is not JSON.") from error
