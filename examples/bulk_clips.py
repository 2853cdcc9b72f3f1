"""Make one clip for each line of a file, with a limited number of jobs at a time.

    python examples/bulk_clips.py lines.txt clips

It writes `clips/00001.wav` and so on. After an interruption, start it again within 24 hours. It skips finished clips.
Its idempotency keys find the jobs that it submitted before. `RHAPSODE_SERVER_URL` and `RHAPSODE_API_KEY` choose the
server.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
from pathlib import Path

from rhapsode import AsyncRhapsode

SERVER = os.environ.get("RHAPSODE_SERVER_URL", "http://127.0.0.1:8765")
VOICE = "alloy"
JOBS_AT_A_TIME = 32


async def make_clips(lines: list[str], folder: Path) -> None:
    """Wait for a free slot before each submission. The first job that fails stops the program."""
    clips = {folder / f"{number:05}.wav": line for number, line in enumerate(lines, start=1)}
    for left in folder.glob(".*.part"):
        left.unlink()
    missing = {path: line for path, line in clips.items() if not path.exists()}
    slots = asyncio.Semaphore(JOBS_AT_A_TIME)
    done = len(clips) - len(missing)

    async def make(path: Path, line: str) -> None:
        nonlocal done
        key = hashlib.sha256(f"{path.name} {VOICE} {line}".encode()).hexdigest()
        job = await client.wait(await client.submit_job(line, voice=VOICE, idempotency_key=key))
        await client.download(job.raise_unless_succeeded(), "narration.wav", path)
        done += 1
        sys.stderr.write(f"\r{done} of {len(clips)} clips")
        slots.release()

    async with (
        AsyncRhapsode(SERVER, api_key=os.environ.get("RHAPSODE_API_KEY")) as client,
        asyncio.TaskGroup() as group,
    ):
        for path, line in missing.items():
            await slots.acquire()
            group.create_task(make(path, line))


if __name__ == "__main__":
    file, folder = map(Path, sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    asyncio.run(make_clips(file.read_text().splitlines(), folder))
