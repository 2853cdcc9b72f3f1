"""The published checkpoints: their names, and where `rhapsode models pull` puts them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rhapsode.stack.errors import ModelNotPulled, ModelUnfit
from rhapsode.stack.layout import DataDir
from worker.engine.cuda.memory_plan import share_slots
from worker.engine.errors import CheckpointError

CHECKPOINT, CHECKPOINTS = "RHAPSODE_CHECKPOINT", "RHAPSODE_CHECKPOINTS"

PUBLISHED = {
    f"qwen3-tts-{size}-{variant}".lower(): f"Qwen/Qwen3-TTS-12Hz-{size}-{variant}"
    for size, variant in (
        ("0.6B", "Base"),
        ("0.6B", "CustomVoice"),
        ("1.7B", "Base"),
        ("1.7B", "CustomVoice"),
        ("1.7B", "VoiceDesign"),
    )
}
"""The repository of each. A model keeps its name when it serves jobs: it is its folder's."""

BYTES_OF_SIZE = {"0.6b": 2_520_000_000, "1.7b": 4_530_000_000}
"""On the disk, and about as much on a GPU."""

POSITIONS, BYTES_OF_POSITION = 2048, 114_692
"""Of a slot at most, and keys and values of one: both sizes have 28 layers of 8 heads."""

MOST_SLOTS = 1024


def num_bytes(name: str) -> int:
    return next(size for part, size in BYTES_OF_SIZE.items() if f"-{part}-" in name)


def slots_on(memory_bytes: int, size: str) -> int:
    """About how many segments such a GPU speaks at the same time; 0: not one."""
    return sum(slots_beside_live(memory_bytes, size, MOST_SLOTS, 0))


def slots_beside_live(memory_bytes: int, size: str, slots: int, live_slots: int | None) -> tuple[int, int]:
    """What a worker plans of so many slots, those of live speech second. It knows better what is really free."""
    free = memory_bytes * 7 // 8 - BYTES_OF_SIZE[size] - 10**9  # the codec's part, the weights, CUDA's own
    try:
        plan, num_live = share_slots(slots, live_slots, POSITIONS, BYTES_OF_POSITION, free)
    except CheckpointError:
        return 0, 0
    return plan.num_slots - num_live, num_live


def checkpoint_named(value: str, data_dir: DataDir) -> str:
    """The folder of a published model, after `pull:` too; else the value, a folder's path made absolute.

    Raises `ModelNotPulled` and `ModelUnfit`.
    """
    from worker.engine.model.pulled import PACKAGED, RECORD

    name = value.removeprefix("pull:")
    if name not in PUBLISHED:
        if name != value:
            raise ModelUnfit(f"{name} is no published model: rhapsode models list")
        # A worker runs in another folder than this process.
        return value if value in PACKAGED or not Path(value).is_dir() else str(Path(value).absolute())
    if not (data_dir.models / name / RECORD).is_file():
        raise ModelNotPulled(name, may_be_pulled=name != value)
    return str(data_dir.models / name)


def with_checkpoints(environment: Mapping[str, str], data_dir: DataDir) -> dict[str, str]:
    """With folders for the names in RHAPSODE_CHECKPOINT and RHAPSODE_CHECKPOINTS. Raises `ModelNotPulled`."""
    found = dict(environment)
    if (one := found.get(CHECKPOINT)) is not None:
        found[CHECKPOINT] = checkpoint_named(one, data_dir)
    if (several := found.get(CHECKPOINTS)) is not None:
        found[CHECKPOINTS] = ",".join(checkpoint_named(each.strip(), data_dir) for each in several.split(","))
    return found
