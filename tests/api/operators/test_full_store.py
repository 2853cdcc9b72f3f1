"""What `rhapsode queues` says while the object store takes nothing."""

from __future__ import annotations

import os

from api.settings import ApiSettings
from tests.api.harness import serve
from tests.command_line import CommandLine
from tests.settings import api_settings_of


def test_queues_say_that_the_store_takes_nothing(api_settings: ApiSettings, command_line: CommandLine) -> None:
    with serve(api_settings_of(api_settings, store_min_free_mb=10**12)) as api:
        queues = command_line.run("queues", "--server", str(api.http.base_url), environment=os.environ)

    assert queues.returncode == 0, queues.stderr
    assert queues.stderr.endswith("the object store is full or does not answer: items wait\n")
