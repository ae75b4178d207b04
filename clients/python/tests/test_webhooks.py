"""Goal: a webhook is accepted if and only if it is signed as Standard Webhooks says, with one of the secrets and lately.
Method: messages signed by the public library of that scheme, as they are and with one thing changed."""

import base64
import json
import os
from datetime import datetime, timezone
from typing import Any

import pytest
from darkroom_client import WebhookVerificationError, verify_webhook
from standardwebhooks.webhooks import Webhook

BODY = json.dumps({"type": "generation.ended", "data": {"text": "Zoë 画"}}, ensure_ascii=False)
AT = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)


def secret() -> str:
    return f"whsec_{base64.b64encode(os.urandom(24)).decode()}"


SECRET = secret()


def signed(*secrets: str) -> dict[str, str]:
    signatures = [Webhook(one).sign("msg_1", AT, BODY) for one in secrets]
    return {
        "webhook-id": "msg_1", "webhook-timestamp": str(int(AT.timestamp())), "webhook-signature": " ".join(signatures),
    }


def accepted(body: str, headers: dict[str, str], secrets: Any, seconds: float = 0) -> bool:
    try:
        verify_webhook(body, headers, secrets, now=AT.timestamp() + seconds)
        return True
    except WebhookVerificationError:
        return False


HEADERS = signed(SECRET)


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        (f"{BODY} ", {}),
        (BODY, {"webhook-id": "msg_2"}),
        (BODY, {"webhook-id": ""}),
        (BODY, {"webhook-timestamp": str(int(AT.timestamp()) + 1)}),
        (BODY, {"webhook-timestamp": "1e9"}),
        (BODY, {"webhook-timestamp": ""}),
        (BODY, {"webhook-signature": ""}),
        (BODY, {"webhook-signature": "v1,"}),
        (BODY, {"webhook-signature": "v1,Zoë"}),
        (BODY, {"webhook-signature": HEADERS["webhook-signature"].replace("v1,", "v2,")}),
    ],
)
def test_refuses_what_was_changed(body: str, changed: dict[str, str]) -> None:
    assert not accepted(body, {**HEADERS, **changed}, SECRET)


def test_refuses_another_secret() -> None:
    assert not accepted(BODY, HEADERS, secret())


@pytest.mark.parametrize(("seconds", "expected"), [(-301, False), (-300, True), (300, True), (301, False)])
def test_refuses_what_was_signed_at_another_time(seconds: float, expected: bool) -> None:
    assert accepted(BODY, HEADERS, SECRET, seconds) is expected


def test_accepts_either_secret_of_a_rotation() -> None:
    other = secret()
    headers = {name.upper(): value for name, value in signed(other, SECRET).items()}
    for secrets in (SECRET, other, [secret(), SECRET]):
        assert verify_webhook(BODY, headers, secrets, now=AT.timestamp()) == json.loads(BODY)
    assert verify_webhook(BODY.encode(), headers, SECRET, now=AT.timestamp()) == json.loads(BODY)


@pytest.mark.parametrize("body", [json.loads(BODY), None])
def test_says_that_a_body_was_parsed(body: Any) -> None:
    with pytest.raises(TypeError, match="parsed"):
        verify_webhook(body, HEADERS, SECRET, now=AT.timestamp())


@pytest.mark.parametrize("secrets", [None, "", [], [SECRET, None], "whsec_%"])
def test_says_that_a_secret_is_none(secrets: Any) -> None:
    with pytest.raises(ValueError, match="whsec_"):
        verify_webhook(BODY, HEADERS, secrets, now=AT.timestamp())
