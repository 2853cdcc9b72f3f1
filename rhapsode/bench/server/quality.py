"""How what a server says sounds: some texts are spoken one after the other, twice each, kept, and judged in a process
that has numpy and a recogniser."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import sys
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated

from pydantic import Field, TypeAdapter

from rhapsode.bench.children import child_process
from rhapsode.bench.server.listening import CountedWindow, Ear, RequestFailed
from rhapsode.bench.server.orders import Language, SpeechRequestOrder, TextBank, TextLevel
from rhapsode.bench.server.plan import BenchPlan
from rhapsode.bench.server.targets import TARGETS
from storage.audio.wav import BYTES_PER_SAMPLE, wav_header
from worker.speech.judging.messages import JudgedRecording, Likeness, Message, NotJudged, Recording

COMMAND = (sys.executable, "-m", "worker.speech.judging")
FIRST_NUMBER = 1_000_000
"""Texts that no load has: a server may keep what it said."""
READ_AS = {Language.ENGLISH: "english", Language.CHINESE: "chinese"}
"""By a recogniser: of one language. What mixes them is read by none."""

LEAST_JUDGING_S = 10.0
"""However late it is: loading the judges alone takes some of it."""

_MESSAGES: TypeAdapter[Message] = TypeAdapter(Annotated[Message, Field(discriminator="kind")])


class JudgeLost(Exception):
    """The process that judges ended before its work was done."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One text. is_same_again: whether the second time had the same samples; None where one of the two failed.

    judged: of the first time; None where that failed. error: of the time that failed. likeness: of its voice to that
    of the reference, else of the other texts.
    """

    text: str
    level: TextLevel
    language: Language
    is_same_again: bool | None
    judged: JudgedRecording | None
    error: str | None = None
    likeness: float | None = None


@dataclass(frozen=True, slots=True)
class JudgedQuality:
    """not_judged: what was not, and why."""

    samples: tuple[Sample, ...]
    not_judged: tuple[str, ...] = ()


def measure_quality(
    plan: BenchPlan,
    count: int,
    folder: Path,
    tell: Callable[[str], None],
    seconds: float = math.inf,
    command: Sequence[str] = COMMAND,
) -> JudgedQuality:
    """folder: where the recordings are kept. seconds: for all of it; what is not judged by then is said. Raises
    JudgeLost.
    """
    until_s = time.monotonic() + seconds
    bank = TextBank(plan.texts)
    orders = [bank.order(FIRST_NUMBER + number) for number in range(count)]
    spoken: list[tuple[SpeechRequestOrder, Path | None, bool | None, str | None]] = []
    for number, order in enumerate(orders, start=1):
        if time.monotonic() > until_s:
            break
        tell(f"quality: text {number} of {count}")
        spoken.append((order, *_speak_twice(plan, order, folder / f"{number:03}.wav")))
    tell("quality: judging ...")
    recordings = [
        Recording(str(path), order.text, READ_AS.get(order.language, "")) for order, path, _, _ in spoken if path
    ]
    found = list(_judge(recordings, [*command, *_arguments(plan)], until_s))
    judged = {each.path: each for each in found if isinstance(each, JudgedRecording)}
    likeness = {each.path: each.cosine for each in found if isinstance(each, Likeness)}
    samples = (
        Sample(order.text, order.level, order.language, same, judged.get(str(path)), error, likeness.get(str(path)))
        for order, path, same, error in spoken
    )
    late = [f"{count - len(spoken)} texts: the time was over"] if len(spoken) < count else []
    told = [f"{each.what}: {each.why}" for each in found if isinstance(each, NotJudged)]
    return JudgedQuality(tuple(samples), (*late, *told))


def _arguments(plan: BenchPlan) -> list[str]:
    given = {"--whisper": plan.whisper, "--reference": plan.like}
    return [part for name, value in given.items() if value is not None for part in (name, str(value))]


def _speak_twice(plan: BenchPlan, order: SpeechRequestOrder, path: Path) -> tuple[Path | None, bool | None, str | None]:
    """Where the first is, whether the second is the same, and why there is none."""
    digests: list[str] = []
    for keeps in (True, False):
        try:
            pcm, rate_hz = asyncio.run(_speak(plan, order))
        except (RequestFailed, TimeoutError) as failure:
            return (path if digests else None), None, str(failure) or f"not whole after {plan.timeout_s:g} s"
        if keeps:
            path.write_bytes(wav_header(len(pcm) // BYTES_PER_SAMPLE, rate_hz) + pcm)
        digests.append(hashlib.sha256(pcm).hexdigest())
    return path, digests[0] == digests[1], None


async def _speak(plan: BenchPlan, order: SpeechRequestOrder) -> tuple[bytes, int]:
    """Samples and their rate."""
    heard, rates = bytearray(), list[int]()

    def keep(pcm: bytes, rate_hz: int) -> None:
        heard.extend(pcm)
        rates.append(rate_hz)

    async with asyncio.timeout(plan.timeout_s):
        await TARGETS[plan.target](plan.speaking).speak(order, Ear(CountedWindow(0.0, 0.0), keep))
    return bytes(heard), rates[0]


def _judge(recordings: Sequence[Recording], command: Sequence[str], until_s: float) -> Generator[Message]:
    if not recordings:
        return
    left_s = max(LEAST_JUDGING_S, until_s - time.monotonic())
    with TemporaryFile("w+") as lines:  # a pipe that the judge does not read yet would block the writer
        lines.writelines(json.dumps(asdict(each)) + "\n" for each in recordings)
        lines.seek(0)
        with child_process(command, left_s, stdin=lines) as judge:
            yield from judge.messages(_MESSAGES)
            status = judge.process.wait()
    if judge.was_late.is_set():
        yield NotJudged("some recordings", "the time was over")
    elif status:
        raise JudgeLost(f"the judge of recordings ended with status {status}")
