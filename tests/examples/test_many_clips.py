"""`bulk_clips.py` as a process: killed in the middle and started again, it makes each clip once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from rhapsode import Rhapsode
from rhapsode.stack.stack import Stack
from tests.environment import without_settings
from tests.examples.conftest import EXAMPLES
from tests.examples.test_webhook_receivers import PATIENCE_S
from tests.waiting import until

NUM_CLIPS = 40


def test_a_killed_program_makes_each_clip_once(stack: Stack, client: Rhapsode, tmp_path: Path) -> None:
    before = {job.id for job in client.jobs()}
    lines, clips = tmp_path / "lines.txt", tmp_path / "clips"
    lines.write_text("".join(f"This is line {number}.\n" for number in range(NUM_CLIPS)))
    command = [sys.executable, str(EXAMPLES / "bulk_clips.py"), str(lines), str(clips)]
    environment = without_settings(os.environ) | {"RHAPSODE_SERVER_URL": stack.url}

    with subprocess.Popen(command, env=environment) as first:
        until(lambda: any(clips.glob("*.wav")))
        first.kill()
    assert len(list(clips.glob("*.wav"))) < NUM_CLIPS
    again = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=True)

    assert again.stderr.endswith(f"{NUM_CLIPS} of {NUM_CLIPS} clips")
    written = sorted(clips.iterdir())
    assert [path.name for path in written] == [f"{number:05}.wav" for number in range(1, NUM_CLIPS + 1)]
    assert {path.read_bytes()[:4] for path in written} == {b"RIFF"}
    assert len({job.id for job in client.jobs()} - before) == NUM_CLIPS
