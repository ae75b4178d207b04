"""Why a request got no answer, in words a person can act on."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

import httpx

_NO_HOST = "there is no such host"
_NOT_TRUSTED = "its certificate is not trusted"


def reason_of(error: httpx.RequestError) -> str:
    if isinstance(error, httpx.TimeoutException):
        return "it did not answer in time"
    for cause in _causes(error):
        if isinstance(cause, socket.gaierror):
            return "its name cannot be resolved" if cause.errno == socket.EAI_AGAIN else _NO_HOST
        if isinstance(cause, ssl.SSLCertVerificationError):
            return _NOT_TRUSTED
        if isinstance(cause, ConnectionRefusedError):
            return "nothing listens there"
        if isinstance(cause, (ConnectionResetError, BrokenPipeError, httpx.RemoteProtocolError)):
            return "the connection was cut"
    return "no connection could be made" if isinstance(error, httpx.ConnectError) else "the connection failed"


def is_hopeless(error: httpx.RequestError) -> bool:
    """Whether trying again cannot help: a name that does not exist, a certificate that is not trusted."""
    return reason_of(error) in (_NO_HOST, _NOT_TRUSTED)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error, and what led to it; of several addresses that were tried, the first."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        tried: tuple[BaseException, ...] = getattr(cause, "exceptions", ())
        cause = tried[0] if tried else cause.__cause__ or cause.__context__
