"""Goal: however often connections are cut, before the service has a request or after it has answered, one generation is
created, paid for once and delivered."""

import asyncio
from typing import Any

import pytest
from darkroom_client import AsyncDarkroom, ConnectionFailed, Darkroom
from pictures import png

INPUT: Any = {"model_key": "sandbox-test", "prompt": "a lighthouse", "parameters": {"size": "128x128"}}
CREATE = r"POST /api/v1/developer/generations HTTP"
REQUESTS = {
    "create": CREATE,
    "prepare": r"POST /api/v1/developer/uploads HTTP",
    "completion": r"POST /api/v1/developer/uploads/[^/]+/complete HTTP",
    "events": r"GET /api/v1/developer/generations/[^/]+/events HTTP",
}


def checked(darkroom: Darkroom, generation_id: str) -> None:
    """It is the only one, and was paid for once."""
    assert [task["generation_id"] for task in darkroom.generations()] == [generation_id]
    assert darkroom.credits()["available_credits"] == 99


@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.parametrize("what", REQUESTS)
def test_makes_one_generation(base_url: str, api_key: str, proxy: Any, what: str, where: str) -> None:
    proxy.cut(REQUESTS[what], where, 2)
    made = Darkroom(proxy.url, api_key).generate(INPUT, references=[png()])
    assert (proxy.cuts, len(made.files)) == (2, 1)
    checked(Darkroom(base_url, api_key), made.task["generation_id"])


def test_makes_one_generation_on_a_loop(base_url: str, api_key: str, proxy: Any) -> None:
    proxy.cut(CREATE, "after", 2)

    async def generate() -> str:
        async with AsyncDarkroom(proxy.url, api_key) as darkroom:
            return (await darkroom.generate(INPUT)).task["generation_id"]

    checked(Darkroom(base_url, api_key), asyncio.run(generate()))


def test_gives_up_with_the_key_that_finds_the_one_generation(base_url: str, api_key: str, proxy: Any) -> None:
    darkroom = Darkroom(proxy.url, api_key)
    proxy.cut(CREATE, "after", 100)
    with pytest.raises(ConnectionFailed) as left:
        darkroom.generate(INPUT)
    assert proxy.cuts == 6
    proxy.cut(CREATE, "before", 0)
    made = darkroom.generate(INPUT, idempotency_key=left.value.idempotency_key)
    checked(Darkroom(base_url, api_key), made.task["generation_id"])
