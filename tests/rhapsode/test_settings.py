"""What the command line reads from the environment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from rhapsode.settings import ClientSettings


def test_what_is_set_is_read_in_capitals_or_not() -> None:
    settings = ClientSettings.of_environment(
        {"RHAPSODE_PORT": "99", "rhapsode_debug": "true", "RHAPSODE_DATA_DIR": "x", "RHAPSODE_STORE": "file:///y"}
    )

    assert (settings.port, settings.debug, settings.data_dir, settings.server_url) == (99, True, Path("x"), None)


def test_what_is_empty_counts_as_unset() -> None:
    empty = {f"RHAPSODE_{field.upper()}": "" for field in ClientSettings.model_fields}

    assert ClientSettings.of_environment(empty) == ClientSettings()


def test_what_makes_no_sense_is_named() -> None:
    with pytest.raises(ValidationError) as refused:
        ClientSettings.of_environment({"RHAPSODE_PORT": "many"})

    assert refused.value.errors()[0]["loc"] == ("port",)


def test_a_key_is_not_shown() -> None:
    assert "sesame" not in repr(ClientSettings.of_environment({"RHAPSODE_API_KEY": "sesame"}))


def test_reading_them_loads_nothing_that_takes_longer_than_speech() -> None:
    code = "import rhapsode.cli.servers, sys; print('pydantic_settings' in sys.modules)"

    told = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True)

    assert told.stdout == "False\n"
