"""How speech is drawn and checked: options of `rhapsode narrate`, with the bounds that the API has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rhapsode.cli.failures import Misuse
from rhapsode.cli.options import OnExhaustedOption, check_between

if TYPE_CHECKING:
    from rhapsode.client.request_options import JobOptions, Quality, Sampling

# What the API takes. Known here because a command may start a whole system before the API could say so.
TEMPERATURES = (0.0, 2.0)
LEAST_TEMPERATURE = 0.001
TOP_KS = (1, 1000)
MOST_TOP_P = 1.0
REPETITION_PENALTIES = (1.0, 2.0)
ATTEMPTS = (1, 10)
MOST_SEED = 2**53 - 1


@dataclass(frozen=True, slots=True)
class DrawingOptions:
    """How it is drawn; what is left out is as the checkpoint has it."""

    seed: Annotated[int | None, typer.Option(help="Same text and seed, same speech; else drawn.")] = None
    strict: Annotated[
        bool, typer.Option("--strict", help="With --seed: the same speech, whatever else is spoken meanwhile.")
    ] = False
    no_reuse: Annotated[
        bool, typer.Option("--no-reuse", help="Speak every segment, also one that an earlier job has spoken.")
    ] = False
    temperature: Annotated[
        float | None, typer.Option(help="0 to 2: how freely it is drawn; 0 always takes the likeliest.")
    ] = None
    top_k: Annotated[int | None, typer.Option(help="1 to 1000: draw among so many.")] = None
    top_p: Annotated[float | None, typer.Option(help="Up to 1: draw among the likeliest of this share.")] = None
    repetition_penalty: Annotated[
        float | None, typer.Option(help="1 to 2: how much less likely what was drawn before becomes.")
    ] = None

    def wishes(self) -> JobOptions:
        """Raises `Misuse` for what the API would not take."""
        check_between("--seed", self.seed, (0, MOST_SEED))
        return {
            "seed": self.seed,
            "reproducibility": "strict" if self.strict else None,
            "reuse": False if self.no_reuse else None,
            "sampling": self._sampling() or None,
        }

    def _sampling(self) -> Sampling:
        check_between("--temperature", self.temperature, TEMPERATURES)
        if self.temperature is not None and 0 < self.temperature < LEAST_TEMPERATURE:
            raise Misuse(f"--temperature: {self.temperature} is neither 0 nor at least {LEAST_TEMPERATURE}")
        check_between("--top-k", self.top_k, TOP_KS)
        check_between("--top-p", self.top_p, (0, MOST_TOP_P))
        if self.top_p == 0:
            raise Misuse("--top-p: 0 leaves nothing to draw; it is above 0 and at most 1")
        check_between("--repetition-penalty", self.repetition_penalty, REPETITION_PENALTIES)
        sampling: Sampling = {}
        if self.temperature is not None:
            sampling["temperature"] = self.temperature
        if self.top_k is not None:
            sampling["top_k"] = self.top_k
        if self.top_p is not None:
            sampling["top_p"] = self.top_p
        if self.repetition_penalty is not None:
            sampling["repetition_penalty"] = self.repetition_penalty
        return sampling


@dataclass(frozen=True, slots=True)
class QualityOptions:
    """How each segment is checked; what is left out is the server's choice."""

    gate: Annotated[
        Literal["off", "basic", "asr"] | None,
        typer.Option(help="basic hears silence, loops and cuts; asr also reads the speech back; off checks nothing."),
    ] = None
    attempts: Annotated[int | None, typer.Option(help="1 to 10: times a segment is spoken at most.")] = None
    on_exhausted: OnExhaustedOption = None

    def wishes(self) -> JobOptions:
        """Raises `Misuse` for what the API would not take."""
        check_between("--attempts", self.attempts, ATTEMPTS)
        quality: Quality = {}
        if self.gate is not None:
            quality["gate"] = self.gate
        if self.attempts is not None:
            quality["max_attempts"] = self.attempts
        if self.on_exhausted is not None:
            quality["on_exhausted"] = self.on_exhausted
        return {"quality": quality or None}
