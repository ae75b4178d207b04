"""Goal: webhooks are managed by the client, and what the service sends is what `verify_webhook` accepts.
Method: a started service that may call this machine, and a receiver here."""

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from queue import Queue
from typing import Any

import pytest
from darkroom_client import DEFAULT_WEBHOOK, ApiError, AsyncDarkroom, Darkroom, verify_webhook

REQUEST = {
    "model_key": "sandbox-test",
    "operation": "image_generation",
    "prompt": "a lighthouse",
    "parameters": {"size": "128x128"},
}


@pytest.fixture
def receiver() -> Iterator[tuple[str, Queue[tuple[dict[str, str], bytes]]]]:
    received: Queue[tuple[dict[str, str], bytes]] = Queue()

    class Receiving(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            received.put((dict(self.headers), body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Receiving)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", received
    server.shutdown()


def test_what_a_webhook_is_sent_is_accepted_and_listed(base_url: str, api_key: str, receiver: Any) -> None:
    url, received = receiver
    with Darkroom(base_url, api_key) as darkroom:
        made = darkroom.webhooks.create({"url": f"{url}/all", "description": "orders"})
        task = darkroom.create_generation(REQUEST)  # type: ignore[arg-type]
        headers, body = received.get(timeout=30)
        event = verify_webhook(body, headers, made["secret"])
        assert event["type"] == "generation.succeeded"
        assert event["data"]["generation_id"] == task["generation_id"]
        [delivery] = darkroom.webhooks.deliveries(made["webhook_id"])
        assert delivery["generation_id"] == task["generation_id"]
        assert darkroom.webhooks.replay(made["webhook_id"], delivery["delivery_id"])["attempts_made"] <= 1
        again, body = received.get(timeout=30)
        assert again["webhook-id"] == headers["webhook-id"]
        rotated = darkroom.webhooks.rotate_secret(made["webhook_id"])["secret"]
        assert darkroom.webhooks.replay_all(made["webhook_id"], {
            "created_after": "2020-01-01T00:00:00Z", "state": "delivered",
        }) in (0, 1)
        darkroom.webhooks.update(made["webhook_id"], {"enabled": False})
        assert [one["status"] for one in darkroom.webhooks.list()] == ["disabled"]
        assert darkroom.webhooks.get(made["webhook_id"])["url"] == f"{url}/all"
        assert rotated != made["secret"]
        for _ in range(2):
            darkroom.webhooks.delete(made["webhook_id"])
        with pytest.raises(ApiError, match="NOT_FOUND"):
            darkroom.webhooks.get(made["webhook_id"])


def test_one_generation_is_told_to_an_address_of_its_own(base_url: str, api_key: str, receiver: Any) -> None:
    url, received = receiver

    async def told() -> None:
        async with AsyncDarkroom(base_url, api_key) as darkroom:
            with pytest.raises(ApiError, match="CONFLICT"):
                await darkroom.create_generation(REQUEST, webhook_url=f"{url}/one")  # type: ignore[arg-type]
            secret = (await darkroom.webhooks.rotate_secret(DEFAULT_WEBHOOK))["secret"]
            task = await darkroom.create_generation(REQUEST, webhook_url=f"{url}/one")  # type: ignore[arg-type]
            headers, body = await asyncio.to_thread(received.get, timeout=30)
            event = verify_webhook(body, headers, secret)
            assert event["data"]["generation_id"] == task["generation_id"]
            found = [one async for one in darkroom.webhooks.deliveries(DEFAULT_WEBHOOK)]
            assert [one.get("url") for one in found] == [f"{url}/one"]
            assert await darkroom.webhooks.list() == []

    asyncio.run(told())
