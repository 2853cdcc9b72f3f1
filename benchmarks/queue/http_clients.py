"""The whole system by its HTTP clients: each submits a text, waits for its job, fetches the WAV, and begins again.

    python -m benchmarks.queue.http_clients [--clients 64,256] [--seconds 15] [--speech-s 5,15]
        [--checkpoint DIR --device cuda:0 --slots 512] [--api-processes N] [--cpu-workers N] [--client-cores 16-31]

The stack is what `rhapsode up` starts on the cores that this program may use (`taskset`), with the engine without a
model unless a checkpoint is given. Clients are spread over a few processes, which `--client-cores` puts on cores of
their own. Speech of a checkpoint is cut at `--speech-s`, since random weights never end by themselves; the engine
without a model says two letters in a frame. Rates are of the last three quarters of the time; times are from a submit
to the last byte of its WAV. A line of JSON for the start and for each number of clients, with the CPU of each kind of
process for a job and the commands of Valkey. `dropped`: what was no whole job, by why.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from benchmarks.queue.client_processes import Order, Told, drive, share
from benchmarks.queue.short_jobs import commands, cpu_taken_ms
from reading.segmenting.lengths import Segmentation
from reading.segmenting.segmentation import plan_segments
from rhapsode import Rhapsode
from rhapsode.contract.jobs.input import Pauses
from rhapsode.stack.events import ProcessesPlanned, StackEvent
from rhapsode.stack.options import StackOptions
from rhapsode.stack.planning.devices import parse_devices
from rhapsode.stack.stack import Stack
from rhapsode.stack.state_file import Lifetime
from tests.environment import without_settings
from tests.run_guard import guarded_run

FRAMES_PER_S = 12.5
LETTERS_PER_FRAME = 2
LETTERS_PER_S = 15
"""Of a text that somebody reads aloud."""

NUMBERED = "Number {number} says: "
WORDS = "the harbour was quiet that evening and the boats moved slowly against the pier while the light went "
WINDOW = 0.75
WARM_UP_S = 3.0


def main() -> None:
    arguments = _parser().parse_args()
    environment = without_settings(os.environ) | {
        "RHAPSODE_RATE_LIMIT": "100000000/minute",
        "RHAPSODE_ENGINE_PROFILE": arguments.profile,
    }
    if arguments.checkpoint is None:
        environment |= {"RHAPSODE_ENGINE": "fake", "RHAPSODE_FAKE_STEP_S": str(arguments.step_ms / 1000)}
    with guarded_run() as folder, _stack(folder, environment, arguments) as stack:
        for speech_s in arguments.speech_s:
            order = _order(stack, speech_s, arguments)
            drive(replace(order, seconds=WARM_UP_S), min(arguments.clients), 1)
            for clients in arguments.clients:
                _tell(_measure(folder, order, clients, arguments.client_processes))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=_numbers, default=[16, 64], help="one measurement for each number")
    parser.add_argument("--seconds", type=float, default=15, help="of each")
    parser.add_argument("--speech-s", type=_lengths, default=[4.0], help="of a text; one round for each length")
    parser.add_argument("--client-processes", type=int, default=6)
    parser.add_argument("--client-cores", type=_cores, default=(), help="such as 16-31; else those of the stack")
    parser.add_argument("--checkpoint", type=Path, help="of a real engine")
    parser.add_argument("--device", help="such as cuda:0,cuda:1; else what `rhapsode up` takes")
    parser.add_argument("--slots", type=int, default=256)
    parser.add_argument("--profile", default="throughput")
    parser.add_argument("--step-ms", type=float, default=1, help="of the engine without a model")
    parser.add_argument("--api-processes", type=int, help="else by the number of cores")
    parser.add_argument("--cpu-workers", type=int, help="else by the number of cores")
    return parser


def _lengths(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _cores(text: str) -> tuple[int, ...]:
    spans = [part.partition("-") for part in text.split(",")]
    return tuple(core for first, _, last in spans for core in range(int(first), int(last or first) + 1))


def _tell(row: dict[str, object]) -> None:
    print(json.dumps(row), flush=True)


@contextmanager
def _stack(folder: Path, environment: dict[str, str], arguments: argparse.Namespace) -> Generator[Stack]:
    options = StackOptions(
        folder,
        slots=arguments.slots,
        checkpoint=arguments.checkpoint.resolve() if arguments.checkpoint else None,
        devices=parse_devices("--device", arguments.device) if arguments.device else (),
        api_processes=arguments.api_processes,
        cpu_workers=arguments.cpu_workers,
        lifetime=Lifetime.SERVER,
    )
    began_s = time.monotonic()
    with Stack(options, environment, _tell_plan) as stack:
        stack.wait_ready()
        _tell({"ready_s": round(time.monotonic() - began_s, 1), "slots": arguments.slots})
        yield stack


def _tell_plan(event: StackEvent) -> None:
    if isinstance(event, ProcessesPlanned):
        kinds = Counter(process.kind for process in event.plan.processes)
        _tell({"cores": event.plan.machine.allowance, "processes": dict(kinds)})


def _order(stack: Stack, speech_s: float, arguments: argparse.Namespace) -> Order:
    is_real = arguments.checkpoint is not None
    letters = speech_s * (LETTERS_PER_S if is_real else LETTERS_PER_FRAME * FRAMES_PER_S)
    text = NUMBERED + (WORDS * (1 + round(letters) // len(WORDS)))[: max(1, round(letters) - len(NUMBERED))].strip()
    planned = plan_segments(text.format(number=2**39), Segmentation(), Pauses())
    fields: dict[str, object] = {"quality": {"gate": "off"}, "priority": "high"}
    if is_real:
        frames = max(1, round(speech_s * FRAMES_PER_S) // len(planned))
        fields["sampling"] = {"max_new_tokens": frames}
    with Rhapsode(stack.url) as client:
        voice = client.models()[0].speakers[0]
    _tell({"speech_s": speech_s, "letters": len(text), "segments": len(planned)})
    return Order(stack.url, voice, text, fields, arguments.seconds, arguments.client_cores)


def _measure(folder: Path, order: Order, clients: int, processes: int) -> dict[str, object]:
    cpu_ms, told_to_valkey = cpu_taken_ms(), commands(folder)
    told = drive(order, clients, min(processes, clients))
    jobs = max(1, len(told.fetched))
    lasted_s = max((each.ended_s for each in told.fetched), default=told.began_s + order.seconds) - told.began_s
    spent_ms = {kind: ms - cpu_ms[kind] for kind, ms in sorted(cpu_taken_ms().items())}
    return {
        "clients": clients,
        **_rates(told, order.seconds),
        "jobs": len(told.fetched),
        "dropped": dict(told.dropped),
        "client_cores": told.cores,
        "cpu_ms_a_job": {kind: round(ms / jobs, 2) for kind, ms in spent_ms.items()},
        "cores": {kind: round(ms / 1000 / lasted_s, 2) for kind, ms in spent_ms.items()},
        "valkey_commands_a_job": round((commands(folder) - told_to_valkey) / jobs, 1),
    }


def _rates(told: Told, seconds: float) -> dict[str, object]:
    window_s = WINDOW * seconds
    ends_s = told.began_s + seconds
    inside = [each for each in told.fetched if ends_s - window_s <= each.ended_s <= ends_s]
    took_s = [each.took_s for each in inside]
    return {
        "jobs_per_s": round(len(inside) / window_s, 1),
        "audio_s_per_s": round(sum(each.audio_s for each in inside) / window_s, 1),
        "audio_s_of_a_job": round(sum(each.audio_s for each in inside) / max(1, len(inside)), 2),
        "p50_s": round(share(took_s, 0.5), 3),
        "p95_s": round(share(took_s, 0.95), 3),
        "p99_s": round(share(took_s, 0.99), 3),
    }


if __name__ == "__main__":
    main()
