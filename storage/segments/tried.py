"""What was tried to speak a segment: in its file, and of one that failed among its job's tries. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True)
class StoredAttempt:
    """One attempt. number: from 1, over all runs of the job.

    temperature: at which codebook 0 was drawn, 0 for the most likely entry. parts: pieces that the text was spoken in.
    findings: names of what was found. reasons: the same in plain words. checks: what was measured, by name.
    """

    number: int
    seed: int
    temperature: float
    parts: int
    findings: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    checks: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True)
class RejectedTake:
    """An attempt that did not pass, of a segment that failed. sha256: of its stored audio, "" if it has none."""

    tried: StoredAttempt
    num_samples: int = 0
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class Rejection:
    """All attempts of a segment's last run. fence: under which their audio is stored. least_bad: number of one."""

    fence: int
    takes: tuple[RejectedTake, ...]
    least_bad: int

    @property
    def best(self) -> StoredAttempt | None:
        take = self.take(self.least_bad)
        return take.tried if take else None

    def take(self, number: int) -> RejectedTake | None:
        return next((each for each in self.takes if each.tried.number == number), None)


_FORM = TypeAdapter(Rejection)


def encode_rejection(rejection: Rejection) -> str:
    return _FORM.dump_json(rejection, exclude_defaults=True).decode()


def decode_rejection(text: str) -> Rejection:
    return _FORM.validate_json(text)
