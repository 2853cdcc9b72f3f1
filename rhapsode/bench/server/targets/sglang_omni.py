"""SGLang-Omni with a model of the Qwen3-TTS family: bare samples, whose rate a header says."""

from __future__ import annotations

from rhapsode.bench.server.targets.family_speech import FamilySpeech


class SglangOmni(FamilySpeech):
    """The rate is what the header says, and all else as the family has it."""
