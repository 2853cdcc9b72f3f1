"""`rhapsode voices` before a model is known, and with models that cannot clone."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from api.settings import ApiSettings
from storage.queue.model_registry import ModelCard
from tests.api.harness import SMALL, ServedApi, serve
from tests.api.voices.voices import BASE, CONSENT, recording, upload
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


def test_a_recording_that_no_model_can_clone_is_refused_and_not_stored(
    api: ServedApi, command_line: CommandLine, tmp_path: Path
) -> None:
    file = tmp_path / "ada.wav"
    file.write_bytes(recording())
    api.models.publish(replace(SMALL, name="other"))
    before = api.traces()
    words = ("voices", "add", str(file), "--name", "Ada", "--consent", CONSENT, "--server", api.url)

    refused = command_line.run(*words, environment=os.environ)

    assert (refused.returncode, refused.stdout) == (1, "")
    (line,) = refused.stderr.splitlines()
    assert "other, small cannot clone voices; of the published checkpoints, Qwen3-TTS Base can" in line
    assert api.traces() == before


@pytest.mark.parametrize("cards", [(), (SMALL, BASE)], ids=["no model is known yet", "one of them clones"])
def test_a_recording_is_stored_when_a_model_may_clone_it(
    api_settings: ApiSettings, cards: tuple[ModelCard, ...]
) -> None:
    with serve(api_settings) as api:
        for card in cards:
            api.models.publish(card)

        assert upload(api)["models"] == [card.name for card in cards if card.voice_modes]
