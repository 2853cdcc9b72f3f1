"""What an engine is put together from."""

from __future__ import annotations

from dataclasses import dataclass

from worker.engine.interface import EngineInfo
from worker.engine.requests.prompt import PromptBuilder
from worker.engine.serving.codec_lane import CodecLane
from worker.engine.serving.talker_lane import TalkerLane
from worker.engine.serving.voice_lane import VoiceLane


@dataclass(frozen=True, slots=True)
class SlotMemory:
    """What slots were planned from, on a device with memory of its own.

    total_bytes, free_bytes: of the device, before the slots were allocated and after the weights were. capacity:
    positions that a slot was to have. bytes_per_position: of one position of one slot.
    """

    total_bytes: int
    free_bytes: int
    capacity: int
    bytes_per_position: int

    @property
    def beside_bytes(self) -> int:
        """Weights, the codec with its graphs, CUDA's own, and what others have on the device."""
        return self.total_bytes - self.free_bytes


@dataclass(frozen=True, slots=True)
class EngineParts:
    """`capacity`: positions of one slot."""

    info: EngineInfo
    prompts: PromptBuilder
    talker: TalkerLane
    codec_lane: CodecLane
    voices: VoiceLane
    capacity: int
    slot_memory: SlotMemory | None = None


@dataclass(frozen=True, slots=True)
class StartedTalker:
    """A talker's lane, how many slots it has, those for live speech apart, and how many positions each of them."""

    lane: TalkerLane
    num_slots: int
    num_live: int
    capacity: int
    takes_open_text: bool
    slot_memory: SlotMemory | None = None
