"""What an engine is put together from."""

from __future__ import annotations

from dataclasses import dataclass

from worker.engine.interface import EngineInfo
from worker.engine.requests.prompt import PromptBuilder
from worker.engine.serving.codec_lane import CodecLane
from worker.engine.serving.talker_lane import TalkerLane
from worker.engine.serving.voice_lane import VoiceLane


@dataclass(frozen=True, slots=True)
class EngineParts:
    """`capacity`: positions of one slot."""

    info: EngineInfo
    prompts: PromptBuilder
    talker: TalkerLane
    codec_lane: CodecLane
    voices: VoiceLane
    capacity: int


@dataclass(frozen=True, slots=True)
class StartedTalker:
    """A talker's lane, how many slots it has, those for live speech apart, and how many positions each of them."""

    lane: TalkerLane
    num_slots: int
    num_live: int
    capacity: int
    takes_open_text: bool
