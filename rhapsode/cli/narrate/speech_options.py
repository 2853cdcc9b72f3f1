"""Options of `rhapsode narrate` for sampling and quality checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from rhapsode.cli import job_options
from rhapsode.cli.job_fields import given_fields

if TYPE_CHECKING:
    from rhapsode.client.request_options import JobOptions


@dataclass(frozen=True, slots=True)
class DrawingOptions:
    """Sampling; the model sets the defaults."""

    seed: job_options.Seed = None
    strict: Annotated[bool, typer.Option("--strict", help="With --seed: make identical speech under any load.")] = False
    no_reuse: Annotated[
        bool, typer.Option("--no-reuse", help="Generate every segment, even if an earlier job has it.")
    ] = False
    do_sample: job_options.SamplingDoSample = None
    temperature: job_options.SamplingTemperature = None
    top_k: job_options.SamplingTopK = None
    top_p: job_options.SamplingTopP = None
    repetition_penalty: job_options.SamplingRepetitionPenalty = None
    subtalker_temperature: job_options.SamplingSubtalkerTemperature = None
    subtalker_top_k: job_options.SamplingSubtalkerTopK = None
    subtalker_top_p: job_options.SamplingSubtalkerTopP = None
    max_new_tokens: job_options.SamplingMaxNewTokens = None

    def wishes(self) -> JobOptions:
        return {
            **given_fields(self),
            "reproducibility": "strict" if self.strict else None,
            "reuse": False if self.no_reuse else None,
        }


@dataclass(frozen=True, slots=True)
class QualityOptions:
    """Quality checks; the server sets the defaults."""

    gate: job_options.QualityGate = None
    attempts: job_options.QualityMaxAttempts = None
    on_exhausted: job_options.QualityOnExhausted = None

    def wishes(self) -> JobOptions:
        return given_fields(self)
