"""How what a server says sounds: some texts are spoken one after the other, twice each, kept, and judged in a process
that has numpy and a recogniser."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
import sys
import wave
from collections.abc import Callable, Generator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter

from rhapsode import system_packages
from rhapsode.bench.server.listening.ear import Ear, Window
from rhapsode.bench.server.orders import Language, Level, Order
from rhapsode.bench.server.plan import Plan
from rhapsode.bench.server.targets.catalogue import TARGETS
from rhapsode.bench.server.texts.bank import TextBank
from rhapsode.bench.server.wire.errors import RequestFailed
from worker.speech.judging.messages import Judged, Message, NoRecogniser, Recording

COMMAND = (sys.executable, "-m", "worker.speech.judging")
FIRST_NUMBER = 1_000_000
"""Texts that no load has: a server may keep what it said."""

_MESSAGES: TypeAdapter[Message] = TypeAdapter(Annotated[Message, Field(discriminator="kind")])


class JudgeLost(Exception):
    """The process that judges ended before its work was done."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One text. is_same_again: whether the second time had the same samples; None where one of the two failed.

    judged: of the first time; None where that failed. error: of the time that failed.
    """

    text: str
    level: Level
    language: Language
    is_same_again: bool | None
    judged: Judged | None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Quality:
    """not_counted: why words were not, "" if they were."""

    samples: tuple[Sample, ...]
    not_counted: str = ""

    @property
    def word_error_rate(self) -> float | None:
        """Of all words together, so that a long text weighs as much as its words."""
        judged = [each.judged for each in self.samples if each.judged is not None]
        words = sum(each.words or 0 for each in judged)
        return sum(each.errors or 0 for each in judged) / words if words else None


def measure_quality(
    plan: Plan, count: int, folder: Path, tell: Callable[[str], None], command: Sequence[str] = COMMAND
) -> Quality:
    """folder: where the recordings are kept. Raises JudgeLost."""
    bank = TextBank(plan.texts)
    orders = [bank.order(FIRST_NUMBER + number) for number in range(count)]
    spoken: list[tuple[Order, Path | None, bool | None, str | None]] = []
    for number, order in enumerate(orders, start=1):
        tell(f"quality: text {number} of {count}")
        spoken.append((order, *_speak_twice(plan, order, folder / f"{number:03}.wav")))
    recordings = [
        Recording(str(path), order.text, order.language is Language.ENGLISH) for order, path, _, _ in spoken if path
    ]
    found = list(_judge(recordings, command))
    judged = {each.path: each for each in found if isinstance(each, Judged)}
    samples = (
        Sample(order.text, order.level, order.language, same, judged.get(str(path)), error)
        for order, path, same, error in spoken
    )
    return Quality(tuple(samples), next((each.why for each in found if isinstance(each, NoRecogniser)), ""))


def _speak_twice(plan: Plan, order: Order, path: Path) -> tuple[Path | None, bool | None, str | None]:
    """Where the first is, whether the second is the same, and why there is none."""
    digests: list[str] = []
    for keeps in (True, False):
        try:
            pcm, rate_hz = asyncio.run(_speak(plan, order))
        except (RequestFailed, TimeoutError) as failure:
            return (path if digests else None), None, str(failure) or f"not whole after {plan.timeout_s:g} s"
        if keeps:
            _write(path, pcm, rate_hz)
        digests.append(hashlib.sha256(pcm).hexdigest())
    return path, digests[0] == digests[1], None


async def _speak(plan: Plan, order: Order) -> tuple[bytes, int]:
    """Samples and their rate."""
    heard, rates = bytearray(), list[int]()

    def keep(pcm: bytes, rate_hz: int) -> None:
        heard.extend(pcm)
        rates.append(rate_hz)

    async with asyncio.timeout(plan.timeout_s):
        await TARGETS[plan.target](plan.speaking).speak(order, Ear(Window(0.0, 0.0), keep))
    return bytes(heard), rates[0]


def _write(path: Path, pcm: bytes, rate_hz: int) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate_hz)
        file.writeframes(pcm)


def _judge(recordings: Sequence[Recording], command: Sequence[str]) -> Generator[Message]:
    if not recordings:
        return
    lines = "".join(json.dumps(asdict(each)) + "\n" for each in recordings)
    environment = os.environ | system_packages.environment(os.environ)
    outcome = subprocess.run(
        list(command), input=lines, stdout=subprocess.PIPE, text=True, env=environment, check=False
    )
    if outcome.returncode:
        raise JudgeLost(f"the judge of recordings ended with status {outcome.returncode}")
    yield from map(_MESSAGES.validate_json, outcome.stdout.splitlines())
