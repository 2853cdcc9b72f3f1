"""Takes of segments as WAV files, which appear when they are complete."""

from __future__ import annotations

from pathlib import Path

from rhapsode.cli.jobs.wav_sizes import HEADER_BYTES, sizes
from rhapsode.client.part_file import PartFile
from rhapsode.errors import DownloadCorrupt


def save_take(path: Path, data: bytes) -> None:
    """Raises `DownloadCorrupt` for an incomplete WAV, and `OSError` with the path."""
    said = sizes(data[:HEADER_BYTES], len(data))
    if not said or any(int.from_bytes(data[offset : offset + 4], "little") != size for offset, size in said):
        raise DownloadCorrupt(f"{path.name} is not the whole WAV that its header announces")
    with PartFile(path) as part:
        part.write(data)
        part.put_in_place()
