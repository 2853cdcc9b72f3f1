"""Makes a data folder as the code on the path leaves it, for the tests of upgrades: one for each release, for good.

    git archive v0.2.0 | tar x -C /tmp/old
    cd /tmp && PYTHONPATH=/tmp/old:. python -P make.py 0.2.0

It writes `0.2.0.tar.xz` and `0.2.0.json` beside this file. In the folder: a narration that was edited, one that was
paused half way, one that waits for its time, a batch, a voice, a dictionary, a webhook endpoint, a key and a quota, on
the fake engine. Retention is set to the year 2100, so that what ended is there whenever a test looks. The secrets in it
open this folder and nothing else.
"""

from __future__ import annotations

import datetime
import io
import json
import math
import os
import struct
import sys
import tarfile
import tempfile
import time
import wave
from pathlib import Path

import redis

from rhapsode import Rhapsode
from rhapsode.client.request_options import OutputFields
from rhapsode.stack.options import StackOptions
from rhapsode.stack.stack import Stack
from storage.database.embedded_valkey import EmbeddedRedis

HERE = Path(__file__).parent
YEAR_2100_MS = 4_102_444_800_000
TEXT = "The wind was cold.\n\nThe sun was warm.\n\nThey met at noon."
LONG = "\n\n".join(f"Number {n} was begun before." for n in range(16))
LEFT_OUT = {"logs", "run", "metrics", "stack.lock", "stack.json", "stack.users", "server.lock", "server.pid"}


def main() -> None:
    name = sys.argv[1]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "data"
        facts = fill(folder, Path(made))
        keep_for_good(folder)
        with tarfile.open(HERE / f"{name}.tar.xz", "w:xz", preset=9) as archive:
            for path in sorted(folder.rglob("*")):
                if path.is_file() and not LEFT_OUT.intersection(path.relative_to(folder).parts):
                    archive.add(path, path.relative_to(folder))
    (HERE / f"{name}.json").write_text(json.dumps(facts, indent=1) + "\n")


def fill(folder: Path, desk: Path) -> dict[str, object]:
    """What there is in it, by kind."""
    # Slow, so that little is spoken of what is paused.
    engine = {"RHAPSODE_ENGINE": "fake", "RHAPSODE_SLOTS": "2", "RHAPSODE_FAKE_STEP_S": "0.03"}
    few = {"RHAPSODE_API_PROCESSES": "1", "RHAPSODE_CPU_WORKERS": "1"}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RHAPSODE_")}
    options = StackOptions(folder, has_local_webhooks=True)
    with Stack(options, {**environment, **engine, **few}, lambda event: None) as stack:
        stack.wait_ready()
        with Rhapsode(stack.url) as client:
            return {**narrations(client), **belongings(client, desk), **waiting(client, desk)}


def narrations(client: Rhapsode) -> dict[str, object]:
    output: OutputFields = {"formats": [{"type": "flac"}], "subtitles": ["srt"]}
    job = client.submit_job(TEXT, voice="ada", seed=5, metadata={"title": "Wind"}, output=output)
    client.wait(job).raise_unless_succeeded()
    client.segments.edit(job, 1, text="The sun was hot.")
    told = client.wait(job).raise_unless_succeeded()
    return {"told": told.id, "files": {each.name: each.sha256 for each in told.artifacts}}


def belongings(client: Rhapsode, desk: Path) -> dict[str, object]:
    (desk / "her.wav").write_bytes(recording())
    voice = client.voices.add("Grandmother", desk / "her.wav", consent="She agrees.")
    dictionary = client.dictionaries.create("times", [{"grapheme": "noon", "alias": "midday"}])
    # Nobody listens there.
    endpoint = client.webhooks.create("http://127.0.0.1:9/in", events=["job.failed"])
    key = client.keys.create("acme", "CI")
    client.quotas.set("acme", jobs=7)
    return {
        "voice": voice.id,
        "dictionary": dictionary.id,
        "endpoint": endpoint.id,
        "key": {"id": key.id, "secret": key.secret},
    }


def waiting(client: Rhapsode, desk: Path) -> dict[str, object]:
    paused = client.submit_job(LONG, voice="ada", seed=6)
    while client.job(paused.id).progress.segments.done < 2:
        time.sleep(0.02)
    client.pause(paused)
    soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=10)
    scheduled = client.submit_job("This is spoken by the next version.", voice="ada", not_before=soon)
    lines = ({"custom_id": f"line-{n}", "input": {"text": f"Line {n}."}, "voice": "ada"} for n in range(3))
    (desk / "batch.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    batch = client.batches.wait(client.batches.submit(desk / "batch.jsonl"))
    while client.job(paused.id).progress.segments.running:
        time.sleep(0.02)
    return {"paused": paused.id, "scheduled": scheduled.id, "batch": batch.id}


def recording() -> bytes:
    made = io.BytesIO()
    samples = (int(9000 * math.sin(n * 0.15) * (0.5 + 0.5 * math.sin(n / 700))) for n in range(16_000))
    with wave.open(made, "wb") as wav:
        wav.setnchannels(1)
        wav.setsampwidth(2)
        wav.setframerate(8000)
        wav.writeframes(b"".join(struct.pack("<h", sample) for sample in samples))
    return made.getvalue()


def keep_for_good(folder: Path) -> None:
    with EmbeddedRedis(folder / "valkey") as server, redis.Redis.from_url(server.url, decode_responses=True) as client:
        for member in client.zrange("{rhapsode}:retention", 0, -1):
            client.zadd("{rhapsode}:retention", {str(member): YEAR_2100_MS})
        for key in client.scan_iter("*"):
            if client.type(key) == "hash" and client.hexists(key, "expires_at_ms"):
                client.hset(key, "expires_at_ms", YEAR_2100_MS)
        client.bgrewriteaof()
        while client.info("persistence")["aof_rewrite_in_progress"]:
            time.sleep(0.05)


if __name__ == "__main__":
    main()
