"""Row 40 of the fault table: interleavings of delete, build, re-upload and force, 24 steps each, on a real server.

    python benchmarks/voices/voice_races.py [--count 10000] [--seed 0]

Prints how many were run, what happened in them, and ends with 1 if anything did not hold.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

import redis

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # the stories are the tests'

from storage.database.embedded_valkey import EmbeddedRedis
from tests.run_guard import guarded_run
from tests.storage.voices.voice_races import run_interleaving


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first interleaving")
    options = parser.parse_args()
    totals: Counter[str] = Counter()
    broken: list[int] = []
    started = time.monotonic()
    with (
        guarded_run() as folder,
        EmbeddedRedis(folder / "v") as server,
        redis.Redis.from_url(server.url, decode_responses=True) as client,
    ):
        for seed in range(options.seed, options.seed + options.count):
            try:
                story = run_interleaving(client, seed)
            except AssertionError as error:
                broken.append(seed)
                print(f"seed {seed}: {error}")
                continue
            totals["builds claimed"] += sum(story.world.builds_started.values())
            totals["artifacts stored"] += sum(builder.stored is not None for builder in story.world.builders)
            totals["builders lost"] += story.num_lost
            totals["voices deleted"] += len(story.world.deleted)
    seconds = time.monotonic() - started
    print(f"{options.count} interleavings in {seconds:.0f} s: {len(broken)} broken; {dict(totals)}")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
