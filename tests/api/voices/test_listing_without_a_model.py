"""What `rhapsode voices list` says before a worker has loaded its model."""

from __future__ import annotations

import os

from api.settings import ApiSettings
from tests.api.harness import SMALL, serve
from tests.command_line import CommandLine


def test_a_list_without_the_voices_of_models_says_why(api_settings: ApiSettings, command_line: CommandLine) -> None:
    with serve(api_settings) as api:
        server = ("--server", str(api.http.base_url))
        before = command_line.run("voices", "list", *server, environment=os.environ)
        api.models.publish(SMALL)
        after = command_line.run("voices", "list", *server, environment=os.environ)

    assert before.stdout == "no voices\n"
    assert before.stderr == "no model is loaded yet: the voices of models are missing\n"
    assert (after.stdout.startswith("-\tbuilt_in\t"), after.stderr) == (True, "")
