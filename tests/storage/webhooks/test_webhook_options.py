"""What operators write about webhooks, and the line they get for what cannot be meant."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from storage.runtime.config.settings import SettingsError, load_settings
from storage.runtime.config.webhook_options import parse_delays, parse_networks, split_keys
from worker.webhooks.retry_schedule import DELAYS_S
from worker.webhooks.settings import HookSettings

ENVIRONMENT = {
    "RHAPSODE_STORE": "file:///srv/rhapsode",
    "RHAPSODE_URL_SECRET": "a-secret-for-tests-only",
    "RHAPSODE_WEBHOOK_KEY": "a-sealing-key-for-tests",
}


def load(monkeypatch: pytest.MonkeyPatch, **changes: str) -> HookSettings:
    for name, value in (ENVIRONMENT | changes).items():
        monkeypatch.setenv(name, value)
    return load_settings(HookSettings)


def test_networks_are_listed_and_loopback_has_a_name() -> None:
    assert parse_networks("") == ()
    assert parse_networks("10.1.0.0/16, loopback") == tuple(
        ip_network(name) for name in ("10.1.0.0/16", "127.0.0.0/8", "::1/128")
    )


def test_keys_and_delays_are_listed() -> None:
    assert split_keys("a" * 16 + " , " + "b" * 16) == ("a" * 16, "b" * 16)
    assert parse_delays("0.5, 5,300") == (0.5, 5.0, 300.0)


def test_the_default_schedule_is_the_standards(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load(monkeypatch)

    assert parse_delays(settings.webhook_delays_s) == DELAYS_S
    assert settings.name_for("0123456789").endswith("-hooks-01234567")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RHAPSODE_WEBHOOK_KEY", "short"),
        ("RHAPSODE_WEBHOOK_KEY", ""),
        ("RHAPSODE_WEBHOOK_KEY", "a" * 16 + ","),
        ("RHAPSODE_WEBHOOK_ALLOW_PRIVATE", "everywhere"),
        ("RHAPSODE_WEBHOOK_ALLOW_PRIVATE", "10.0.0.1/8"),
        ("RHAPSODE_WEBHOOK_DELAYS_S", "5,soon"),
        ("RHAPSODE_WEBHOOK_DELAYS_S", "0"),
        ("RHAPSODE_WEBHOOK_DELAYS_S", "inf"),
    ],
)
def test_what_cannot_be_meant_names_its_variable_and_not_its_value(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        load(monkeypatch, **{name: value})

    assert name in str(caught.value)
    assert "a-sealing-key" not in str(caught.value)
