"""`cast/narrate.sh` as a reader runs it."""

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


def test_each_character_has_its_voice(stack: Stack, client: Rhapsode, tmp_path: Path) -> None:
    environment = without_settings(os.environ) | {"RHAPSODE_SERVER_URL": stack.url}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    script = str(EXAMPLES / "cast" / "narrate.sh")

    subprocess.run([script], cwd=tmp_path, env=environment, timeout=PATIENCE_S, check=True)

    assert b"ftyp" in (tmp_path / "book.m4b").read_bytes()[:16]
    job = next(job for job in client.jobs() if job.title == "Two Fables")
    segments = list(client.segments.list(job))
    voices = {each.speaker: each.voice for each in segments}
    # The fake engine has two voices for OpenAI's names.
    assert voices == {"": "ada", "WOLF": "tom", "LAMB": "ada", "FOX": "tom"}
    assert len({each.chapter for each in segments}) == 2
