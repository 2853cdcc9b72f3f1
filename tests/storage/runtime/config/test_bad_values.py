"""Every setting with bad values: one line that names the setting, and status 2 of the programs that read it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from api.settings import ApiSettings
from rhapsode.cli.failures import Misuse
from rhapsode.cli.options import read_settings
from storage.runtime.config.setting_files import NEVER_EMPTY
from storage.runtime.config.settings import MOST, SETTING_NAMES, SettingsError, StorageSettings, load_settings
from tests.environment import without_settings
from worker.process.drain import DrainSettings
from worker.settings import ItemSettings, WorkerSettings
from worker.webhooks.settings import HookSettings

READERS = (ApiSettings, WorkerSettings, ItemSettings, HookSettings, DrainSettings)
FIELDS = [(reader, field) for reader in READERS for field in reader.model_fields]
WRONG_TYPES = ("steam", "{", "[]", "1-2-3", "https://[", "redis://h:99999/0", "10.0.0.0/99")
WRONG_NUMBERS = ("-1", "nan", "inf", "-inf", "1e308", str(MOST + 1), "9" * 400)
WRONG_LINES = ("a\nb", "\x1b[31mred", "file:///x\ny", "/no\x7fpath", "https://h\r\nx")
BAD = (*WRONG_TYPES, *WRONG_NUMBERS, *WRONG_LINES, " ", "é" * 5_000, "/none/such", "redis://h/abc", "s3://")
NUMBERS: set[object] = {int, float, int | None}
TEXTS: set[object] = {str, SecretStr, Path, str | None, Path | None}
PATHS = {"checkpoint", "checkpoints", "whisper_model", "live_tls_certificate", "live_tls_key"}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in SETTING_NAMES:
        monkeypatch.delenv(name, raising=False)
    for name, value in good(tmp_path).items():
        monkeypatch.setenv(name, value)


def good(folder: Path) -> dict[str, str]:
    return {
        "RHAPSODE_STORE": folder.as_uri(),
        "RHAPSODE_URL_SECRET": "s" * 16,
        "RHAPSODE_ENGINE": "fake",
        "RHAPSODE_WORKER_NAME": "w",
        "RHAPSODE_WEBHOOK_KEY": "k" * 16,
    }


@pytest.mark.parametrize(("reader", "field"), FIELDS, ids=[f"{each.__name__}-{field}" for each, field in FIELDS])
def test_a_bad_value_is_refused_in_one_line_that_names_its_setting(
    reader: type[StorageSettings], field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"RHAPSODE_{field.upper()}"
    refused = set(refusals(reader, name, monkeypatch))

    kind = reader.model_fields[field].annotation
    if kind in NUMBERS:
        assert refused >= {*WRONG_TYPES, *WRONG_NUMBERS, *WRONG_LINES, " "}
    elif kind in TEXTS:
        assert refused >= set(WRONG_LINES)
    else:
        assert refused >= {*WRONG_LINES, *WRONG_TYPES} - ({*WRONG_TYPES} if field in PATHS else set())


@pytest.mark.parametrize(("reader", "field"), [each for each in FIELDS if each[1] != "api_keys"])
@pytest.mark.parametrize("suffix", ["", "_FILE"])
def test_an_empty_value_counts_as_unset(
    reader: type[StorageSettings], field: str, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"RHAPSODE_{field.upper()}"
    monkeypatch.delenv(name, raising=False)
    unset = outcome(reader)

    monkeypatch.setenv(f"{name}{suffix}", "")

    assert outcome(reader) == unset


@pytest.mark.parametrize("suffix", ["", "_FILE"])
def test_empty_keys_do_not_open_the_api(suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{NEVER_EMPTY}{suffix}", "")

    with pytest.raises(SettingsError, match=f"^{NEVER_EMPTY}{suffix}: "):
        load_settings(ApiSettings)


def outcome(reader: type[StorageSettings]) -> StorageSettings | str:
    try:
        return load_settings(reader)
    except SettingsError as error:
        return str(error)


def refusals(reader: type[StorageSettings], name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for value in BAD:
        monkeypatch.setenv(name, value)
        try:
            load_settings(reader)
        except SettingsError as error:
            said = str(error)
            assert name in said
            assert said.isprintable()
            assert len(said) < 400
            yield value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RHAPSODE_REDIS_URL", "redis://h:99999/0"),
        ("RHAPSODE_REDIS_URL", "redis://h/abc"),
        ("RHAPSODE_REDIS_URL", "unix:///x?db=x"),
        ("RHAPSODE_REDIS_URL", "redis+sentinel://h"),
        ("RHAPSODE_REDIS_URL", f"redis://{'h' * 64}/0"),
        ("RHAPSODE_BROKER_URL", "steam"),
        ("RHAPSODE_BROKER_URL", "redis+socket:///x?virtual_host=x"),
        ("RHAPSODE_S3_ENDPOINT_URL", "steam"),
        ("RHAPSODE_S3_ENDPOINT_URL", "https://h:99999"),
        ("RHAPSODE_PUBLIC_URL", "https://h:99999"),
        ("RHAPSODE_PUBLIC_URL", "https://h..example"),
        ("RHAPSODE_PUBLIC_URL", "https://h/a b"),
        ("RHAPSODE_OPERATOR", "An Operator"),
        ("RHAPSODE_RATE_LIMIT", "0/minute"),
        ("RHAPSODE_API_KEYS", "[]"),
        ("RHAPSODE_ALIASES", '{"models": 1}'),
        ("RHAPSODE_TLS_CA", "/none/such"),
    ],
)
def test_what_a_library_would_take_for_something_else_is_refused(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(SettingsError, match=f"^{name}: "):
        load_settings(ApiSettings)


@pytest.mark.parametrize("field", ["port", "api_processes", "cpu_workers", "debug"])
def test_the_command_line_refuses_them_as_wrong_usage(field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"RHAPSODE_{field.upper()}"
    for value in (*WRONG_TYPES, *WRONG_NUMBERS, *WRONG_LINES, " "):
        monkeypatch.setenv(name, value)
        with pytest.raises(Misuse, match=f"^{name}: ") as refused:
            read_settings()
        assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    ("program", "name", "value"),
    [
        (("api.server",), "RHAPSODE_MAX_TEXT_CHARS", "many"),
        (("api.server",), "RHAPSODE_FAILPOINT", "none.such:kill"),
        (("api.server",), "RHAPSODE_TRACING", "steam"),
        (("api.server",), "RHAPSODE_API_KEYS", "{"),
        (("api.server",), "RHAPSODE_STORE", "file:///dev/null/below"),
        (("worker.janitor",), "RHAPSODE_STORE", "file:///dev/null/below"),
        (("worker.decoder",), "RHAPSODE_DECODER_DEVICE", "ws://x"),
        (("worker.janitor",), "RHAPSODE_MAX_ATTEMPTS", "0"),
        (("worker.janitor",), "RHAPSODE_POD_COSTS", "true"),
        (("worker.process.drain",), "RHAPSODE_KEY_PREFIX", "a:b"),
        (("celery", "-A", "worker.gpu_app", "worker"), "RHAPSODE_LEASE_S", "inf"),
        (("celery", "-A", "worker.webhooks.app", "worker"), "RHAPSODE_WEBHOOK_DELAYS_S", "nan"),
        (("rhapsode", "jobs", "list"), "RHAPSODE_PORT", "99999"),
        (("rhapsode", "up"), "RHAPSODE_KEY_PREFIX", "a:b"),
        (("rhapsode", "up"), "RHAPSODE_KEY_PREFIXX", "a"),
    ],
)
def test_a_program_ends_with_status_2_and_no_traceback(
    program: tuple[str, ...], name: str, value: str, tmp_path: Path
) -> None:
    environment = without_settings(os.environ) | good(tmp_path) | {"RHAPSODE_DATA_DIR": str(tmp_path / "data")}
    # Another server may have the default port.
    port = ("--port", "0") if program[0] == "api.server" else ()
    if program[0] == "rhapsode":
        environment.pop("RHAPSODE_STORE")
        environment["RHAPSODE_PORT"] = "0"

    ended = subprocess.run(
        [sys.executable, "-m", *program, *port],
        env=environment | {name: value},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ended.returncode, ended.stdout) == (2, "")
    # `up` says before what it would start.
    lines = ended.stderr.splitlines()[-1:] if program[-1] == "up" else ended.stderr.splitlines()
    assert len(lines) == 1
    assert name in lines[0]
    assert "Traceback" not in ended.stderr
