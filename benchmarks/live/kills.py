"""Listeners who hear live speech as fast as it goes while one of two workers is killed again and again.

    python -m benchmarks.live.kills [--listeners 64] [--minutes 3] [--every 30] [--checkpoint DIR] [--device cuda:0]

An API and two GPU workers are processes of their own, on the engine without a model unless a checkpoint is given. Each
listener asks for one text after the other, always with the same seed, and reads no faster than it hears, with half a
second of buffer. Every so many seconds a worker gets kill -9, in turn, and is started again; while one of them still
starts the other is spared. What is told: streams that
broke, the longest gap that was heard, and streams whose bytes were not those that the same text had before anything
was killed: orders are strict, and workers' engines too.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import sys
import time
from pathlib import Path

from benchmarks.api.served_api import ServedApi, served_api
from benchmarks.live.listeners import Heard, Listening
from benchmarks.live.listening import (
    TEXTS,
    add_engine,
    all_speak,
    hear,
    speaking_workers,
    speech_order,
    spoken_names,
    until_served,
)
from tests.run_guard import guarded_run


def main() -> None:
    arguments = _parser().parse_args()
    with guarded_run() as folder, served_api(folder) as api:
        print(json.dumps(asyncio.run(_measure(api, folder, arguments)), indent=1))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--listeners", type=int, default=64)
    parser.add_argument("--minutes", type=float, default=3)
    parser.add_argument("--every", type=float, default=30, help="seconds between two kills; 0: nobody is killed")
    add_engine(parser)
    return parser


async def _measure(api: ServedApi, folder: Path, arguments: argparse.Namespace) -> dict[str, object]:
    async with speaking_workers(api, folder, ("gpu-0", "gpu-1"), arguments) as workers:
        model, voice = await spoken_names(api)
        orders = [{**speech_order(model, voice, text), "reproducibility": "strict"} for text in TEXTS]
        await until_served(api, orders[0], len(workers))
        print("undisturbed", file=sys.stderr, flush=True)
        digests = [await _digest(api, order) for order in orders]
        heard, kills = Heard(), 0
        until_s = time.monotonic() + 60 * arguments.minutes
        listening = asyncio.create_task(Listening(api, orders, until_s, heard, digests).run(arguments.listeners))
        while arguments.every and time.monotonic() + arguments.every < until_s:
            await asyncio.sleep(arguments.every)
            if not all_speak(api, workers):
                continue
            worker = workers[kills % len(workers)]
            worker.kill()
            worker.start()
            kills += 1
            print(f"killed {worker.name}: {heard.row()}", file=sys.stderr, flush=True)
        await listening
        return {"listeners": arguments.listeners, "minutes": arguments.minutes, "kills": kills, **heard.row()}


async def _digest(api: ServedApi, order: dict[str, object]) -> str:
    heard = await hear(api, order, None)
    if isinstance(heard, str):
        sys.exit(heard)
    return hashlib.sha256(heard).hexdigest()


if __name__ == "__main__":
    main()
