"""Goal: `generate` makes a picture of the started program and raises typed errors; what is wrong costs nothing, and what is
left is cancelled. Both clients are held to it: the asynchronous one runs each call on a loop of its own."""

import asyncio
import io
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from darkroom_client import (
    ApiError, AsyncDarkroom, ConnectionFailed, Darkroom, GenerationFailed, Reference, TooExpensive, WaitTimeout,
)
from pictures import png

SMALL: Any = {"model_key": "sandbox-test", "prompt": "a lighthouse"}
HANGING: Any = {**SMALL, "parameters": {"behaviour": "hang", "size": "128x128"}}
CREDITS = 100


class Blocking:
    """The asynchronous client as the blocking one is used."""

    def __init__(self, base_url: str, api_key: str | None = None) -> None:
        self.arguments = (base_url, api_key)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        async def call(*args: Any, **options: Any) -> Any:
            async with AsyncDarkroom(*self.arguments) as client:
                answer = getattr(client, name)(*args, **options)
                return [one async for one in answer] if hasattr(answer, "__aiter__") else await answer

        return lambda *args, **options: asyncio.run(call(*args, **options))


@pytest.fixture(params=[Darkroom, Blocking], ids=["blocking", "asynchronous"])
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def darkroom(kind: Any, base_url: str, api_key: str) -> Any:
    return kind(base_url, api_key)


def test_raises_the_code_and_request_id_of_a_refusal(kind: Any, darkroom: Any, base_url: str) -> None:
    with pytest.raises(ApiError) as refused:
        darkroom.generate({**SMALL, "prompt": ""})
    assert (refused.value.status, refused.value.code) == (422, "FIELD_INVALID")
    assert len(refused.value.request_id) == 36
    with pytest.raises(ApiError, match="DEVELOPER_TOKEN_INVALID"):
        kind(base_url, "svc_live_wrong").credits()
    assert list(darkroom.generations()) == []


def test_says_that_nothing_answers(kind: Any) -> None:
    with pytest.raises(ConnectionFailed, match="cannot be reached: nothing listens there"):
        kind("http://127.0.0.1:1").models()


def test_says_that_there_is_no_such_host_and_does_not_try_again(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []

    def unknown(host: Any, *_: Any, **__: Any) -> Any:
        tries.append(host)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(ConnectionFailed, match="there is no such host"):
        kind("http://darkroom.invalid").models()
    assert len(tries) == 1


def test_takes_the_address_of_the_service_with_the_path_of_the_api_behind_it(kind: Any, base_url: str) -> None:
    for behind in ("/", "/api/v1/developer", "/api/v1/developer/"):
        assert kind(base_url + behind).model(SMALL["model_key"])["model_key"] == SMALL["model_key"]


@pytest.mark.parametrize("references", ["harbour.png", b"bytes", Reference("harbour.png")])
def test_says_that_references_are_a_list(darkroom: Any, references: Any) -> None:
    with pytest.raises(TypeError, match="list"):
        darkroom.generate(SMALL, references=references)
    assert list(darkroom.generations()) == []


def test_creates_nothing_that_is_estimated_above_the_maximum(darkroom: Any) -> None:
    with pytest.raises(TooExpensive) as refused:
        darkroom.generate({**SMALL, "parameters": {"n": 3}}, max_credits=2)
    assert (refused.value.estimated_credits, refused.value.max_credits) == (3, 2)
    assert list(darkroom.generations()) == []


def test_says_what_is_available_when_that_is_too_little(kind: Any, darkroom: Any) -> None:
    for _ in range(CREDITS // 4):
        darkroom.create_generation({**HANGING, "operation": "image_generation", "parameters": {"behaviour": "hang", "n": 4}})
    with pytest.raises(ApiError) as refused:
        darkroom.generate(SMALL)
    assert (refused.value.status, refused.value.code, refused.value.credits_available) == (402, "CREDITS_INSUFFICIENT", 0)
    for task in darkroom.generations():
        darkroom.cancel(task["generation_id"])


def test_raises_the_task_of_a_generation_that_failed(darkroom: Any) -> None:
    with pytest.raises(GenerationFailed) as failed:
        darkroom.generate({**SMALL, "parameters": {"behaviour": "refuse", "error_code": "CONTENT_REJECTED_INPUT"}})
    assert failed.value.task["error"]["code"] == "CONTENT_REJECTED_INPUT"
    # The hold is released after the end.
    for _ in range(500):
        if darkroom.credits()["available_credits"] == CREDITS:
            return
        time.sleep(0.02)
    raise AssertionError("the hold was not released")


def test_leaves_a_generation_going_when_its_waiting_time_is_over(darkroom: Any) -> None:
    with pytest.raises(WaitTimeout) as left:
        darkroom.generate(HANGING, timeout_s=0.3)
    task = darkroom.generation(left.value.task["generation_id"])
    assert task["status"] in ("queued", "running")
    darkroom.cancel(task["generation_id"])


def test_makes_the_pictures_that_were_asked_for_and_pays_once(darkroom: Any, tmp_path: Path) -> None:
    (tmp_path / "same.png").write_bytes(png())
    references = [png(), tmp_path / "same.png"]
    request = {**SMALL, "parameters": {"size": "128x128", "n": 2}, "client_trace_id": "studio:1"}
    statuses: list[str] = []
    made = darkroom.generate(
        request, references=[*references, Reference(io.BytesIO(png(8, 8)))], max_credits=2, idempotency_key="two", on_status=lambda task: statuses.append(task["status"])
    )
    assert (made.task["status"], made.task["charged_credits"], made.task["client_trace_id"]) == ("succeeded", 2, "studio:1")
    assert (statuses[0], statuses[-1], len(made.files)) == ("queued", "succeeded", 2)
    for file in made.files:
        assert file.save(tmp_path).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        assert (file.media_type, file.filename[-4:]) == ("image/png", ".png")
    references.append(png(8, 8))
    again = darkroom.generate(request, references=references, idempotency_key="two", download=False)
    assert (again.task["generation_id"], again.files) == (made.task["generation_id"], [])
    assert darkroom.credits()["available_credits"] == CREDITS - 2
    assert len(list(darkroom.generations())) == 1


def test_refuses_a_reference_that_is_no_picture(darkroom: Any) -> None:
    with pytest.raises(ValueError, match="PNG, JPEG or WebP"):
        darkroom.upload(b"no picture")
    upload = darkroom.upload(png())
    assert darkroom.upload_state(upload)["status"] == "ready"
    for _ in range(2):
        darkroom.delete_upload(upload)
    with pytest.raises(ApiError, match="NOT_FOUND"):
        darkroom.upload_state(upload)


def test_deletes_what_has_ended_and_nothing_else(darkroom: Any) -> None:
    left = darkroom.create_generation({**HANGING, "operation": "image_generation"})
    with pytest.raises(ApiError, match="CONFLICT"):
        darkroom.delete_generation(left["generation_id"])
    darkroom.wait(darkroom.cancel(left["generation_id"]))
    made = darkroom.generate(SMALL).task["generation_id"]
    for _ in range(2):
        darkroom.delete_generation(made)
    with pytest.raises(ApiError, match="GENERATION_JOB_NOT_FOUND"):
        darkroom.generation(made)
    assert [task["generation_id"] for task in darkroom.generations()] == [left["generation_id"]]


def test_lists_what_a_filter_finds_over_all_pages(darkroom: Any) -> None:
    request = {**SMALL, "operation": "image_generation"}
    made = [darkroom.create_generation({**request, "client_trace_id": trace})["generation_id"] for trace in "aba"]
    found = [task["generation_id"] for task in darkroom.generations({"client_trace_id": "a", "limit": 1})]
    assert found == [made[2], made[0]]
    darkroom.wait(darkroom.generation(made[2]))
    kinds = [entry["kind"] for entry in darkroom.credit_entries({"limit": 2})]
    assert len(kinds) > 3 and kinds[-1] == "grant"
    traces = [(row["client_trace_id"], row["generations"]) for row in darkroom.usage({"by": "client_trace_id", "limit": 1})]
    assert traces == [("a", 2), ("b", 1)]
    page = darkroom.usage_page({"by": "model", "limit": 1})
    assert [row["model_key"] for row in page["usage"]] == ["sandbox-test"]
    assert page["total"]["generations"] == 3
    assert darkroom.estimate(request)["estimated_credits"] == 1
    assert darkroom.model("sandbox-test")["operations"] == ["image_generation"]
    assert "sandbox-test" in [model["model_key"] for model in darkroom.models()]


def only(darkroom: Any) -> Any:
    """The one generation there is, once it has ended."""
    [task] = darkroom.generations()
    return darkroom.wait(task)


def test_cancels_when_a_block_is_left(base_url: str, api_key: str) -> None:
    with Darkroom(base_url, api_key) as darkroom:
        with pytest.raises(KeyError), darkroom.started(HANGING):
            raise KeyError
        assert only(darkroom)["status"] == "cancelled"


def test_cancels_when_a_block_of_a_coroutine_is_left(base_url: str, api_key: str) -> None:
    async def leave() -> None:
        async with AsyncDarkroom(base_url, api_key) as darkroom, darkroom.started(HANGING):
            raise KeyError

    with pytest.raises(KeyError):
        asyncio.run(leave())
    assert only(Darkroom(base_url, api_key))["status"] == "cancelled"


def test_cancels_when_it_is_interrupted(base_url: str, api_key: str) -> None:
    darkroom = Darkroom(base_url, api_key)
    interrupt = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        darkroom.generate(HANGING, on_status=lambda task: task["status"] == "queued" and interrupt.start())
    assert only(darkroom)["status"] == "cancelled"


@pytest.mark.parametrize("cancels", [True, False])
def test_cancels_when_its_task_is_cancelled(base_url: str, api_key: str, cancels: bool) -> None:
    async def leave() -> None:
        async with AsyncDarkroom(base_url, api_key) as darkroom:
            await asyncio.wait_for(darkroom.generate(HANGING, cancels=cancels), 0.5)

    with pytest.raises((asyncio.TimeoutError, TimeoutError)):
        asyncio.run(leave())
    darkroom = Darkroom(base_url, api_key)
    [task] = darkroom.generations()
    if not cancels:
        assert task["status"] in ("queued", "running")
        darkroom.cancel(task["generation_id"])
    assert only(darkroom)["status"] == "cancelled"


def test_cancels_what_a_create_accepts_after_it_was_cancelled(base_url: str, api_key: str, proxy: Any) -> None:
    proxy.cut(r"POST /api/v1/developer/generations HTTP", "after")

    async def leave() -> None:
        async with AsyncDarkroom(proxy.url, api_key) as darkroom:
            creating = asyncio.create_task(darkroom.generate(HANGING))
            while proxy.cuts == 0:
                await asyncio.sleep(0.005)
            creating.cancel()
            await creating

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(leave())
    assert only(Darkroom(base_url, api_key))["status"] == "cancelled"
