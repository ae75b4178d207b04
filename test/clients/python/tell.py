"""Calls, and what is told of them as lines of JSON."""

import json
from collections.abc import Callable, Iterable

import grpc
from google.protobuf import symbol_database
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

# Whoever reads details must know their types.
from google.rpc import error_details_pb2  # noqa: F401
from grpc_status import rpc_status

Metadata = tuple[tuple[str, str], ...]


def tell(step: str, call: grpc.Call, answers: Iterable[Message]) -> None:
    """Tells one step: how it ended, with the messages that came, in the JSON that protobuf defines for them."""
    is_answered = call.code() == grpc.StatusCode.OK or any(key == "x-request-id" for key, _ in call.initial_metadata() or ())
    about = (call.initial_metadata() if is_answered else call.trailing_metadata()) or ()
    line = {
        "step": step,
        "code": call.code().value[0],
        "answers": [in_json(answer) for answer in answers],
        "request_ids": [value for key, value in about if key == "x-request-id"],
    }
    if call.code() != grpc.StatusCode.OK:
        line["message"] = call.details()
        line["details"] = details_of(call)
    print(json.dumps(line), flush=True)


def details_of(call: grpc.Call) -> dict[str, object]:
    refused = rpc_status.from_call(call)
    details: dict[str, object] = {}
    for packed in refused.details if refused else ():
        name = packed.type_url.rpartition("/")[2]
        message = symbol_database.Default().GetSymbol(name)()
        packed.Unpack(message)
        details[name] = in_json(message)
    return details


def in_json(message: Message) -> object:
    return MessageToDict(message, preserving_proto_field_name=True)


def ask(step: str, method: grpc.UnaryUnaryMultiCallable, request: Message, metadata: Metadata = ()) -> Message | None:
    """Makes one call, tells it, and answers what came; nothing when it was refused."""
    try:
        answer, call = method.with_call(request, metadata=metadata, wait_for_ready=True)
    except grpc.RpcError as refused:
        tell(step, refused, [])
        return None
    tell(step, call, [answer])
    return answer


def follow(step: str, stream: grpc.Call, on_message: Callable[[], object] = lambda: None) -> None:
    """Reads a stream to its end and tells it; on_message is called for each message."""
    answers: list[Message] = []
    try:
        for answer in stream:
            answers.append(answer)
            on_message()
    except grpc.RpcError:
        pass
    tell(step, stream, answers)
