"""What an engine is put together from."""

from __future__ import annotations

from collections.abc import Callable
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


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """codec_bytes_on: what the codec takes on a device with so many bytes in all; weights apart."""

    slots: SlotMemory
    codec_bytes_on: Callable[[int], int]

    def beside_slots(self, total_bytes: int) -> int:
        """Bytes that lie beside the slots on a device with so many in all, which has what this one has.

        Weights, the codec with its graphs, CUDA's own, and what others have here. Only the codec's part is another on
        a device of another size.
        """
        here = self.slots.total_bytes
        beside_here = here - self.slots.free_bytes
        return beside_here - self.codec_bytes_on(here) + self.codec_bytes_on(total_bytes)


@dataclass(frozen=True, slots=True)
class EngineParts:
    """`capacity`: positions of one slot. most_waiting_frames: when more wait for the codec, no request is admitted;
    None: there is no such limit."""

    info: EngineInfo
    prompts: PromptBuilder
    talker: TalkerLane
    codec_lane: CodecLane
    voices: VoiceLane
    capacity: int
    most_waiting_frames: int | None = None
    memory: DeviceMemory | None = None


@dataclass(frozen=True, slots=True)
class StartedCodec:
    """bytes_on: as in `DeviceMemory`; 0 of a lane that takes the same on every device."""

    lane: CodecLane
    bytes_on: Callable[[int], int]


@dataclass(frozen=True, slots=True)
class StartedTalker:
    """A talker's lane, how many slots it has, those for live speech apart, and how many positions each of them."""

    lane: TalkerLane
    num_slots: int
    num_live: int
    capacity: int
    takes_open_text: bool
    slot_memory: SlotMemory | None = None
