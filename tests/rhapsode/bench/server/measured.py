"""Reports as a server might give them, with figures that nobody measured."""

from __future__ import annotations

import random
from collections.abc import Sequence

from rhapsode.bench.server.load import ClosedLoad, Load, MeasuredRequest, OpenLoad
from rhapsode.bench.server.orders import Language, TextLevel
from rhapsode.bench.server.report import MeasuredServer, ServerReport, StageReport, summarize
from tests.rhapsode.bench.engine.measured import environment

LOADS: tuple[Load, ...] = (ClosedLoad(1), ClosedLoad(8), OpenLoad(2.0))
BEGINS_S, ENDS_S = 5.0, 25.0


def outcome(number: int, chance: random.Random, slower: float, error: str | None) -> MeasuredRequest:
    wait_s = slower * chance.uniform(0.08, 0.12)
    audio_s = chance.uniform(2.0, 6.0)
    return MeasuredRequest(
        number=number,
        level=tuple(TextLevel)[number % 3],
        language=Language.ENGLISH,
        chars=40,
        due_s=BEGINS_S + 0.4 * number,
        is_counted=True,
        connect_s=0.001,
        first_byte_s=wait_s,
        playable_s=wait_s,
        audible_s=wait_s + 0.05,
        total_s=None if error else 0.5 * slower * audio_s,
        audio_s=audio_s,
        window_audio_s=audio_s / slower,
        error=error,
    )


def stage(load: Load, seed: int = 0, slower: float = 1.0, requests: int = 40, error: str | None = None) -> StageReport:
    """slower: times of another server, as a factor. error: of every tenth request."""
    chance = random.Random(seed)
    outcomes = [outcome(n, chance, slower, error if n % 10 == 0 else None) for n in range(requests)]
    summary = summarize(outcomes, BEGINS_S, ENDS_S, 0.08, 0.0)
    return StageReport(load=load, begins_s=BEGINS_S, ends_s=ENDS_S, stall_s=0.002, summary=summary, requests=outcomes)


def report(stages: Sequence[StageReport], seed: int = 0) -> ServerReport:
    asked = MeasuredServer(
        target="nari",
        url="http://there:8000",
        model=None,
        voice="<b>ryan</b>",
        instructions=None,
        parameters={},
        seed=seed,
        levels=tuple(TextLevel),
        languages=(Language.ENGLISH,),
        timeout_s=20,
        clients=2,
        frame_s=0.08,
    )
    return ServerReport(environment=environment(), asked=asked, stages=list(stages), ended="complete", wall_s=80.0)
