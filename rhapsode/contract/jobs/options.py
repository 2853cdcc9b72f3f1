"""What is said of a narration and stays as it was said: in the request, in the stored document, in the answer."""

from __future__ import annotations

import enum
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from rhapsode.contract.base import Choice, RequestBody
from rhapsode.contract.jobs.input import Emoji, Pauses, ValidateOnly
from rhapsode.contract.jobs.output import Output
from rhapsode.contract.jobs.quality import Quality

MIN_TEMPERATURE = 0.001
"""Logits divided by less leave the range of 32-bit floats, so that engines refuse it; 0 means no drawing at all."""


class Reproducibility(enum.StrEnum):
    """Whether a segment's codes may depend, in rounding, on what else its worker speaks at the time."""

    # Twin of `worker.engine.profiles.Reproducibility`.
    BEST_EFFORT = "best_effort"
    STRICT = "strict"
    """They may not: only workers that can see to it speak the job, and it takes nothing that others spoke."""


def _zero_or_drawable(temperature: float) -> float:
    if 0 < temperature < MIN_TEMPERATURE:
        raise PydanticCustomError("out_of_range", "must be 0 or at least {least}", {"least": MIN_TEMPERATURE})
    return temperature


Temperature = Annotated[float, Field(ge=0, le=2), AfterValidator(_zero_or_drawable)]

MAX_NEW_TOKENS = 8_192
"""Eleven minutes, which no model speaks in one piece."""


class Sampling(RequestBody):
    """Sampling parameters; absent ones are the checkpoint's. `subtalker_…` apply to codebooks 1 and up."""

    do_sample: bool | None = Field(default=None, description="`false` is greedy, as `temperature` 0")
    temperature: Temperature | None = Field(default=None, description="0 is greedy")
    top_p: float | None = Field(default=None, gt=0, le=1, description="nucleus sampling")
    top_k: int | None = Field(default=None, ge=1, le=1000, description="number of candidates")
    repetition_penalty: float | None = Field(default=None, ge=1, le=2, description="penalty on earlier codes")
    subtalker_temperature: Temperature | None = Field(default=None, description="`temperature` of the other codebooks")
    subtalker_top_p: float | None = Field(default=None, gt=0, le=1, description="`top_p` of the other codebooks")
    subtalker_top_k: int | None = Field(default=None, ge=1, le=1000, description="`top_k` of the other codebooks")
    max_new_tokens: int | None = Field(
        default=None,
        ge=1,
        le=MAX_NEW_TOKENS,
        description="maximum frames of 80 ms in a segment; absent: from its text",
    )

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if self.do_sample is False and (self.temperature or self.subtalker_temperature):
            raise PydanticCustomError("not_allowed", "`do_sample: false` draws nothing: leave out the temperatures")
        if self.do_sample is True and self.temperature == 0:
            raise PydanticCustomError("not_allowed", "`temperature` 0 draws nothing, and `do_sample` is true")
        return self

    @property
    def is_greedy(self) -> bool:
        """Whether the likeliest code is asked for, which is the same with every seed."""
        return self.do_sample is False or self.temperature == 0


class Repeatability(RequestBody):
    """Whether speech can be had again, byte by byte."""

    reproducibility: Choice[Reproducibility] = Field(
        default=Reproducibility.BEST_EFFORT,
        description="`strict`: equal requests give equal speech in any batch",
    )

    @property
    def is_strict(self) -> bool:
        """Whether equal requests are to give equal speech."""
        return self.reproducibility is Reproducibility.STRICT


class SpeechOptions(Repeatability):
    """A field that is added here is accepted, stored, answered and written into the manifest without another line."""

    pauses: Pauses = Pauses()
    sampling: Sampling = Sampling()
    reuse: bool = Field(default=True, description="`false`: generate segments again that your earlier jobs have")
    emoji: Choice[Emoji] = Field(
        default=Emoji.DROPPED,
        description="`named` speaks emoji names, in English with `normalization: basic`",
    )
    quality: Quality = Quality()
    output: Output = Output()
    validate_only: ValidateOnly = False
