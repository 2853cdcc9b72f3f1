"""What an engine is put together from."""

from __future__ import annotations

from dataclasses import dataclass

from worker.engine.interface import EngineInfo
from worker.engine.requests.prompt import PromptBuilder
from worker.engine.serving.codec_lane import CodecLane
from worker.engine.serving.talker_lane import TalkerLane
from worker.engine.serving.voice_lane import VoiceLane
from worker.engine.settings import EngineRole
from worker.engine.stages.codec import CodecStage


@dataclass(frozen=True, slots=True)
class EngineParts:
    """`capacity`: positions of one slot."""

    role: EngineRole
    info: EngineInfo
    prompts: PromptBuilder
    talker: TalkerLane
    codec: CodecStage
    codec_lane: CodecLane
    voices: VoiceLane
    capacity: int
