"""What a book takes from its submission to its finished file, by hours of speech; what an edit of it costs, and a kill.

    python benchmarks/suite/books.py [--hours 1 10] [--checkpoint DIR] [--device cuda:0] [--slots 512] [--url URL]

Without `--url` a separate stack: with `--checkpoint` on its engine, else on the engine without a model. A book is
paragraphs of the texts of `rhapsode bench`, estimated to last so many hours; the report has the actual length too. The
edit is of the segment in the middle, until the new file can be fetched. The kill (-9) is of the GPU worker, when half
of a second book as long as the first is spoken: how many seconds more that one takes. Each is one job alone on the
stack.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.rig import fake_engine, kind_of, parser, running_stack
from rhapsode import Job, Rhapsode
from rhapsode.bench.server.orders import Language, TextBank, TextChoice, TextLevel
from rhapsode.client.request_options import QualityFields
from rhapsode.stack.options import StackOptions
from rhapsode.stack.planning.devices import parse_devices
from tests.run_guard import guarded_run

CHARS_PER_HOUR = 54_000
STEP_S = 0.001
TIMEOUT_S = 4 * 3600.0
POLL_S = 0.2
HEADS = ("hours asked", "spoken", "segments", "accepted s", "finished s", "audio s/s", "an edit s", "a kill s")


@dataclass(frozen=True, slots=True)
class Book:
    """accepted_s, finished_s: from the submission."""

    job: Job
    accepted_s: float
    finished_s: float


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--hours", type=float, nargs="+", default=[1.0])
    options.add_argument("--checkpoint", type=Path)
    options.add_argument("--device", default="cpu")
    options.add_argument("--slots", type=int, default=64)
    options.add_argument("--gate", choices=("basic", "off"), default="basic", help="off: random weights make noise")
    options.add_argument("--url", help="of a running server; then no worker is killed")
    given = options.parse_args()
    print(*(f"{name:>11}" for name in HEADS), flush=True)
    if given.url is not None:
        _tell(given.url, given, None)
        return
    environment = fake_engine(STEP_S)
    if given.checkpoint is not None:
        environment |= {"RHAPSODE_ENGINE": "native", "RHAPSODE_ENGINE_PROFILE": "throughput"}
    with guarded_run() as folder:
        devices = parse_devices("--device", given.device)
        checkpoint = given.checkpoint and given.checkpoint.resolve()
        options = StackOptions(folder, slots=given.slots, checkpoint=checkpoint, devices=devices)
        with running_stack(options, environment) as stack:
            _tell(stack.url, given, _kill_worker)


def _tell(url: str, given: argparse.Namespace, kill: Callable[[], None] | None) -> None:
    hours: list[float] = given.hours
    quality: QualityFields = {"gate": given.gate}
    with Rhapsode(url) as client:
        _spoken(client, book_text(0.02, 0), quality, None)  # the first job of a stack finds nothing warm
        for number, wanted in enumerate(hours, start=1):
            whole = _spoken(client, book_text(wanted, number), quality, None)
            spoken_s = sum(each.duration_s or 0.0 for each in client.artifacts(whole.job))
            _print(f"{wanted:g}", f"{spoken_s / 3600:.2f}", f"{whole.job.progress.segments.total}")
            _print(f"{whole.accepted_s:.2f}", f"{whole.finished_s:.1f}", f"{spoken_s / whole.finished_s:,.0f}")
            _print(f"{_edited(client, whole.job):.2f}")
            # Other sentences: the same would be reused.
            broken = None if kill is None else _spoken(client, book_text(wanted, 1000 + number), quality, kill)
            _print("-\n" if broken is None else f"{broken.finished_s - whole.finished_s:+.1f}\n")


def _print(*cells: str) -> None:
    """Each figure when it is known, since a book takes hours."""
    print(*(f"{cell:>11}" for cell in cells), end="" if cells[-1].endswith("\n") else " ", flush=True)


def book_text(hours: float, seed: int) -> str:
    """Paragraphs of the bank's texts, the same for a seed."""
    bank = TextBank(TextChoice(seed, (TextLevel.MEDIUM, TextLevel.LONG), (Language.ENGLISH,)))
    chance = random.Random(seed)
    paragraphs: list[str] = []
    while sum(map(len, paragraphs)) < hours * CHARS_PER_HOUR:
        first = 4 * len(paragraphs)
        paragraphs.append(" ".join(bank.order(first + each).text for each in range(chance.randint(1, 4))))
    return "\n\n".join(paragraphs)


def _spoken(client: Rhapsode, text: str, quality: QualityFields, kill: Callable[[], None] | None) -> Book:
    began_s = time.monotonic()
    job = client.submit_job(text, output={"formats": [{"type": "opus"}]}, quality=quality, reuse=False)
    accepted_s = time.monotonic() - began_s
    while kill is not None and not job.state.is_terminal:
        job = client.job(job.id)
        segments = job.progress.segments
        if segments.total and segments.done * 2 >= segments.total:
            kill()
            break
        time.sleep(POLL_S)
    job = client.wait(job, timeout_s=TIMEOUT_S)
    job.raise_unless_succeeded()
    return Book(job, accepted_s, time.monotonic() - began_s)


def _edited(client: Rhapsode, job: Job) -> float:
    segments = list(client.segments.list(job))
    began_s = time.monotonic()
    client.segments.edit(job, segments[len(segments) // 2], text="This sentence was another one before.")
    client.wait(job, timeout_s=TIMEOUT_S).raise_unless_succeeded()
    return time.monotonic() - began_s


def _kill_worker() -> None:
    for process in psutil.Process().children(recursive=True):
        if kind_of(process) == "gpu_worker":
            os.kill(process.pid, signal.SIGKILL)
            return
    raise SystemExit("there is no GPU worker to kill")


if __name__ == "__main__":
    main()
