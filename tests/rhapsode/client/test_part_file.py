from __future__ import annotations

import hashlib
import resource
from pathlib import Path
from typing import NoReturn

import pytest

from rhapsode import Artifact, DownloadCorrupt
from rhapsode.client import part_file
from rhapsode.client.part_file import PartFile
from tests.rhapsode.answers import answer

SPEECH = b"RIFF....WAVE"
EXPECTED = Artifact.model_validate(
    answer("get_job")["artifacts"][0] | {"bytes": len(SPEECH), "sha256": hashlib.sha256(SPEECH).hexdigest()}
)


def test_a_whole_download_replaces_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "out.wav"
    path.write_bytes(b"old")

    with PartFile(path) as part:
        part.write(b"half of a first try")
        part.restart()
        part.write(SPEECH[:5])
        part.write(SPEECH[5:])
        assert path.read_bytes() == b"old"
        part.commit(EXPECTED)

    assert path.read_bytes() == SPEECH
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("received", [SPEECH[:-1], SPEECH[:-1] + b"X", SPEECH + b"X", b""])
def test_other_bytes_are_refused_and_nothing_is_left(tmp_path: Path, received: bytes) -> None:
    path = tmp_path / "out.wav"
    path.write_bytes(b"old")

    with PartFile(path) as part:
        part.write(received)
        with pytest.raises(DownloadCorrupt):
            part.commit(EXPECTED)

    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_ctrl_c_while_the_file_is_made_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(path: Path, mode: str) -> NoReturn:
        with path.open(mode):
            raise KeyboardInterrupt

    monkeypatch.setattr(part_file, "open", interrupted, raising=False)

    with pytest.raises(KeyboardInterrupt), PartFile(tmp_path / "out.wav"):
        pass

    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_full_names_the_users_file_and_nothing_is_left(tmp_path: Path) -> None:
    path = tmp_path / "out.wav"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The kernel's own refusal; it sends a signal as well, which Python ignores.
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(OSError, match="large") as refusal, PartFile(path) as part:
            part.write(bytes(1 << 20))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert refusal.value.filename == str(path)
    assert list(tmp_path.iterdir()) == []
