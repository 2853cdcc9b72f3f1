"""The parts of an engine."""

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
    """The input for planning slots on a GPU.

    total_bytes, free_bytes: of the device, after loading the weights and before allocating the slots. capacity:
    wanted positions of a slot. bytes_per_position: of one position of one slot.
    """

    total_bytes: int
    free_bytes: int
    capacity: int
    bytes_per_position: int


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """codec_bytes_on: from the total bytes of a device to the codec's bytes there, without weights."""

    slots: SlotMemory
    codec_bytes_on: Callable[[int], int]

    def beside_slots(self, total_bytes: int) -> int:
        """Bytes that are not for slots on a device with `total_bytes`.

        These are weights, the codec with its graphs, CUDA, and other processes. Only the codec's part depends on the
        size of the device.
        """
        here = self.slots.total_bytes
        beside_here = here - self.slots.free_bytes
        return beside_here - self.codec_bytes_on(here) + self.codec_bytes_on(total_bytes)


@dataclass(frozen=True, slots=True)
class EngineParts:
    """capacity: positions of one slot. most_waiting_frames: if more wait for the codec, the engine admits no request;
    None for no limit."""

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
    """bytes_on: `codec_bytes_on` of `DeviceMemory`; 0 for a lane with the same size on each device."""

    lane: CodecLane
    bytes_on: Callable[[int], int]


@dataclass(frozen=True, slots=True)
class StartedTalker:
    """A talker's lane. num_slots: without the num_live slots for live speech. capacity: positions of each slot."""

    lane: TalkerLane
    num_slots: int
    num_live: int
    capacity: int
    takes_open_text: bool
    slot_memory: SlotMemory | None = None
