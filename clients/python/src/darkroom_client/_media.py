"""Files on their way to and from the service."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from ._calls import MAX_TRIES, PATIENT_TRIES, Service, send_patiently
from ._effects import Flow, Send
from .errors import ApiError, TransferFailed

if TYPE_CHECKING:
    from .types import GenerationTask, Output, PreparedUpload

Role = Literal["reference_image", "start_frame", "end_frame"]
_MAX_BYTES = 64 * 1024 * 1024
_PUT_TIMEOUT_S = 300.0
_GET_TIMEOUT_S = 600.0
_EXTENSIONS = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp", "video/mp4": "mp4"}


@dataclass(frozen=True)
class Reference:
    """A reference file: its path, its bytes, or a file that is open for reading bytes."""

    file: str | os.PathLike[str] | bytes | IO[bytes]
    role: Role = "reference_image"
    filename: str | None = None
    """Without a path; that of the path, or a made-up one, when absent."""
    media_type: str | None = None
    """Found out from the bytes when absent."""


@dataclass(frozen=True)
class Downloaded:
    """The verified bytes of an output."""

    output: Output
    content: bytes
    media_type: str
    """MIME type, as `image/png`."""
    filename: str
    """The media id with the extension of its type."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the file; into a folder under its `filename`."""
        target = Path(path)
        if target.is_dir():
            target = target / self.filename
        target.write_bytes(self.content)
        return target


def upload(service: Service, reference: Reference, intent: str) -> Flow[str]:
    """Answers the id for `reference_upload_ids`. The same intent and file again find the same upload."""
    content = _bytes_of(reference.file)
    media_type = reference.media_type or _picture_type(content)
    if media_type is None:
        raise ValueError("A reference file must be a PNG, JPEG or WebP picture.")
    digest = hashlib.sha256(content).hexdigest()
    filename = reference.filename or _name_of(reference.file) or f"reference.{media_type.removeprefix('image/')}"
    request = {
        "filename": filename, "media_type": media_type, "byte_size": len(content), "sha256": digest, "role": reference.role,
    }
    key = hashlib.sha256(f"{intent}\0{reference.role}\0{digest}\0{filename}".encode()).hexdigest()
    prepared = yield from service.call("POST", "/uploads", request, idempotency_key=f"{key}.prepare")
    target: PreparedUpload = prepared.data
    upload_id = target["upload_id"]

    def complete() -> Flow[Any]:
        path = f"/uploads/{upload_id}/complete"
        return service.call("POST", path, {"sha256": digest}, idempotency_key=f"{key}.complete")

    if prepared.replayed:
        # An earlier try may have sent the bytes already.
        try:
            yield from complete()
            return upload_id
        except ApiError as error:
            if error.code != "FIELD_INVALID":
                raise
    headers = {name: value for name, value in target["required_headers"].items() if name.lower() != "content-length"}
    put = Send(target["method"], target["upload_url"], headers, content, _PUT_TIMEOUT_S)
    yield from send_patiently(put, "A reference file was not uploaded", TransferFailed, MAX_TRIES)
    yield from complete()
    return upload_id


def download(output: Output) -> Flow[Downloaded]:
    """Checks that the bytes are complete and of the promised kind, by their number, their type and the first of them."""
    what = f"Output {output['media_id']} could not be downloaded"
    get = Send("GET", output["url"], timeout_s=_GET_TIMEOUT_S, follow_redirects=True)
    response = yield from send_patiently(get, what, TransferFailed, PATIENT_TRIES)
    content = response.content
    media_type = response.headers.get("content-type", "").split(";")[0].strip()
    length = response.headers.get("content-length")
    if length is not None and "content-encoding" not in response.headers and int(length) != len(content):
        raise TransferFailed(f"{what}: {len(content)} of {length} bytes arrived.")
    if not media_type.startswith(f"{output['media_type']}/"):
        raise TransferFailed(f"{what}: it has the type {media_type or 'none'} and not that of a {output['media_type']}.")
    actual = _picture_type(content) or ("video/mp4" if content[4:8] == b"ftyp" else None)
    if media_type in _EXTENSIONS and actual != media_type:
        raise TransferFailed(f"{what}: its bytes are not those of {media_type}.")
    extension = _EXTENSIONS.get(media_type)
    name = output["media_id"] if extension is None else f"{output['media_id']}.{extension}"
    return Downloaded(output, content, media_type, name)


def download_all(task: GenerationTask) -> Flow[list[Downloaded]]:
    files = []
    for output in task["outputs"]:
        files.append((yield from download(output)))
    return files


def references_of(given: Sequence[Reference | str | os.PathLike[str] | bytes]) -> list[Reference]:
    if isinstance(given, (str, bytes, os.PathLike, Reference)):
        raise TypeError("References are a list, also where there is one.")
    return [one if isinstance(one, Reference) else Reference(one) for one in given]


def _bytes_of(file: str | os.PathLike[str] | bytes | IO[bytes]) -> bytes:
    if isinstance(file, bytes):
        content = file
    elif isinstance(file, (str, os.PathLike)):
        with open(file, "rb") as opened:
            content = opened.read(_MAX_BYTES + 1)
    else:
        content = file.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise ValueError(f"The file has more than {_MAX_BYTES} bytes.")
    return content


def _name_of(file: object) -> str | None:
    return Path(file).name if isinstance(file, (str, os.PathLike)) else None


def _picture_type(content: bytes) -> str | None:
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return "image/webp"
    return None
