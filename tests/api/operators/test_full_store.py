"""What `rhapsode queues` says while the object store takes nothing."""

from __future__ import annotations

import os

import pytest

from api.settings import ApiSettings
from tests.api.harness import serve
from tests.command_line import CommandLine


@pytest.mark.usefixtures("full_store")
def test_queues_say_that_the_store_takes_nothing(api_settings: ApiSettings, command_line: CommandLine) -> None:
    with serve(api_settings) as api:
        queues = command_line.run("queues", "--server", str(api.http.base_url), environment=os.environ)

    assert queues.returncode == 0, queues.stderr
    assert queues.stderr.endswith("the object store is full or does not answer: items wait\n")
