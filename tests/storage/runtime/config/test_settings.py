from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from api.settings import ApiSettings
from storage.runtime.config.settings import (
    SETTING_NAMES,
    STORAGE_SETTING_NAMES,
    SettingsError,
    StorageSettings,
    broker_url_of,
    describe,
    load_settings,
    refuse_unknown_settings,
)

SECRET = "0123456789abcdef"


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SETTING_NAMES:
        monkeypatch.delenv(name, raising=False)


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RHAPSODE_STORE", "s3://bucket/some/prefix")
    monkeypatch.setenv("RHAPSODE_REDIS_URL", "rediss://user:pw@example.org:6380/0")
    monkeypatch.setenv("RHAPSODE_LOG_FORMAT", "json")

    settings = load_settings(StorageSettings)

    assert settings.store == "s3://bucket/some/prefix"
    assert settings.log_format == "json"
    assert settings.broker_url.get_secret_value() == "rediss://user:pw@example.org:6380/1"


@pytest.mark.parametrize(
    ("redis_url", "broker_url"),
    [
        ("redis://127.0.0.1:6379/0", "redis://127.0.0.1:6379/1"),
        ("redis://127.0.0.1", "redis://127.0.0.1/1"),
        ("redis://:pw@h:1/3?client_name=x", "redis://:pw@h:1/1?client_name=x"),
        ("unix://:p%40w@/run/a%20b.sock?db=0", "redis+socket://:p%40w@/run/a%20b.sock?virtual_host=1"),
        ("unix:///run/v.sock", "redis+socket:///run/v.sock?virtual_host=1"),
    ],
)
def test_the_broker_is_database_1_of_the_same_server(redis_url: str, broker_url: str) -> None:
    assert broker_url_of(redis_url) == broker_url


@pytest.mark.parametrize("redis_url", ["redis://h/1", "unix:///run/v.sock?db=1"])
def test_state_in_the_brokers_database_needs_an_explicit_broker(redis_url: str) -> None:
    with pytest.raises(ValidationError, match="RHAPSODE_BROKER_URL"):
        StorageSettings(redis_url=SecretStr(redis_url), store="s3://bucket")

    settings = StorageSettings(redis_url=SecretStr(redis_url), broker_url=SecretStr("redis://h/2"), store="s3://bucket")
    assert settings.broker_url.get_secret_value() == "redis://h/2"


def test_unknown_variable_is_refused_with_the_closest_known_one() -> None:
    with pytest.raises(SettingsError, match="RHAPSODE_REDIS_ULR is not a setting; did you mean RHAPSODE_REDIS_URL"):
        refuse_unknown_settings({"RHAPSODE_REDIS_ULR": "x", "PATH": "/bin"}, SETTING_NAMES)


def test_variables_of_other_processes_and_of_the_tests_are_accepted() -> None:
    environment = {"RHAPSODE_SLOTS": "4", "RHAPSODE_TEST_FAULT_JOBS": "1000", "rhapsode_store": "x", "HOME": "/"}

    refuse_unknown_settings(environment, SETTING_NAMES)


def test_loading_refuses_an_unknown_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RHAPSODE_STORE", "s3://bucket")
    monkeypatch.setenv("RHAPSODE_KEY_PREFIXX", "x")

    with pytest.raises(SettingsError, match="did you mean RHAPSODE_KEY_PREFIX"):
        load_settings(StorageSettings)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RHAPSODE_STORE", "/just/a/path"),
        ("RHAPSODE_STORE", "file://relative/path"),
        ("RHAPSODE_STORE", "s3:///no-bucket"),
        ("RHAPSODE_S3_PUBLIC_ENDPOINT", "audio.example.org"),
        ("RHAPSODE_S3_PUBLIC_ENDPOINT", "https://example.org/behind/a/path"),
        ("RHAPSODE_REDIS_URL", "redis+socket:///run/v.sock"),
        ("RHAPSODE_BROKER_URL", "amqp://h"),
        ("RHAPSODE_KEY_PREFIX", "has:colon"),
        ("RHAPSODE_LOG_FORMAT", "xml"),
        ("RHAPSODE_QUOTA_JOBS", "-1"),
    ],
)
def test_wrong_value_is_refused_by_the_variables_name_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv("RHAPSODE_STORE", "s3://bucket")
    monkeypatch.setenv(name, value)

    with pytest.raises(SettingsError, match=f"^{name}: ") as refusal:
        load_settings(StorageSettings)

    assert value not in str(refusal.value)


def test_missing_store_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="RHAPSODE_STORE: must be set"):
        load_settings(StorageSettings)


@pytest.mark.parametrize("secret", ["", "short"])
def test_folder_store_needs_a_secret_to_sign_links_with(secret: str) -> None:
    with pytest.raises(ValidationError, match="RHAPSODE_URL_SECRET"):
        StorageSettings(store="file:///srv/store", url_secret=SecretStr(secret))


def test_description_shows_everything_but_secrets() -> None:
    settings = StorageSettings(
        redis_url=SecretStr("redis://user:hunter2@example.org:6379/0"),
        store="file:///srv/my%20store",
        url_secret=SecretStr(SECRET),
    )

    lines = describe(settings)

    assert "RHAPSODE_REDIS_URL=redis://***@example.org:6379/0" in lines
    assert "RHAPSODE_BROKER_URL=redis://***@example.org:6379/1" in lines
    assert "RHAPSODE_URL_SECRET=(set)" in lines
    assert "RHAPSODE_STORE=file:///srv/my%20store" in lines
    assert "hunter2" not in repr(settings) + str(lines)
    assert SECRET not in repr(settings) + str(lines)
    assert str(settings.store_path) == "/srv/my store"


def test_every_field_is_a_known_variable() -> None:
    assert {f"RHAPSODE_{name.upper()}" for name in StorageSettings.model_fields} == STORAGE_SETTING_NAMES
    assert STORAGE_SETTING_NAMES <= SETTING_NAMES


def test_settings_cannot_be_changed() -> None:
    settings = StorageSettings(store="s3://bucket")

    with pytest.raises(ValidationError):
        settings.store = "s3://other"


def test_a_setting_may_stand_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    secret = tmp_path / "url_secret"
    secret.write_text(f"{SECRET}\n")
    monkeypatch.setenv("RHAPSODE_STORE", "file:///somewhere")
    monkeypatch.setenv("RHAPSODE_URL_SECRET_FILE", str(secret))

    assert load_settings(StorageSettings).url_secret.get_secret_value() == SECRET


def test_keys_may_stand_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({"a" * 64: "ann"}))
    monkeypatch.setenv("RHAPSODE_STORE", "s3://bucket")
    monkeypatch.setenv("RHAPSODE_API_KEYS_FILE", str(keys))

    assert load_settings(ApiSettings).api_keys == {"a" * 64: "ann"}


@pytest.mark.parametrize(
    ("content", "more", "complaint"),
    [
        (None, {}, "RHAPSODE_URL_SECRET_FILE: .*No such file"),
        (b"\xff\xfe", {}, "not text in UTF-8"),
        (b"x" * 70_000, {}, "longer than"),
        (b"\n", {}, "is empty"),
        (SECRET.encode(), {"RHAPSODE_URL_SECRET": SECRET}, "both set"),
        (SECRET.encode(), {"RHAPSODE_URL_SECERT_FILE": "x"}, "did you mean"),
    ],
)
def test_a_file_that_cannot_be_meant_stops_the_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None, more: dict[str, str], complaint: str
) -> None:
    secret = tmp_path / "url_secret"
    if content is not None:
        secret.write_bytes(content)
    for name, value in {
        "RHAPSODE_STORE": "file:///somewhere",
        "RHAPSODE_URL_SECRET_FILE": str(secret),
        **more,
    }.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(SettingsError, match=complaint):
        load_settings(StorageSettings)
