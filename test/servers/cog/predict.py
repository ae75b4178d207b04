"""A model for tests: pictures of one colour, after as many seconds as it is asked to take."""

import struct
import time
import zlib
from pathlib import Path as File

from cog import BaseRunner, Input, Path


class Predictor(BaseRunner):
    def run(
        self,
        prompt: str = Input(description="What to do: withheld and endless are other endings."),
        seconds: float = Input(default=0, ge=0, le=600),
        num_outputs: int = Input(default=1, ge=1, le=4),
        image: Path = Input(default=None),
        mask: Path = Input(default=None),
    ) -> list[Path]:
        if prompt == "withheld":
            raise ValueError("NSFW content detected. Try running it again, or try a different prompt.")
        until = time.monotonic() + (600 if prompt == "endless" else seconds)
        while time.monotonic() < until:
            time.sleep(0.02)
        # What it was sent comes back, in turn.
        pictures = [File(str(file)).read_bytes() for file in (image, mask) if file is not None] or [png(64, 64)]
        return [written(index, pictures[index % len(pictures)]) for index in range(num_outputs)]


def written(index: int, picture: bytes) -> Path:
    file = File(f"picture-{index}.png")
    file.write_bytes(picture)
    return Path(str(file))


def png(width: int, height: int) -> bytes:
    rows = (b"\x00" + b"\x40\x80\xc0" * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
