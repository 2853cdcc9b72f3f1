"""What operators write about webhooks, and how it is read. Pure, and quick to import: every process reads settings."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Network, IPv6Network, ip_network

from pydantic import AfterValidator

LOOPBACK = ("127.0.0.0/8", "::1/128")
MIN_KEY_CHARS = 16
MAX_DELAY_S = 7 * 24 * 3600.0


def parse_networks(text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """Comma-separated networks, `loopback` among them for this machine's own. Raises `ValueError`."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    spelled = [network for name in names for network in (LOOPBACK if name == "loopback" else (name,))]
    return tuple(ip_network(name) for name in spelled)


def split_keys(text: str) -> tuple[str, ...]:
    """The sealing keys, the current one first. Raises `ValueError` for one that is too short to be one."""
    keys = tuple(key.strip() for key in text.split(","))
    if not all(len(key) >= MIN_KEY_CHARS for key in keys):
        raise ValueError(f"a key has at least {MIN_KEY_CHARS} characters")
    return keys


def parse_delays(text: str) -> tuple[float, ...]:
    """Comma-separated seconds between the attempts. Raises `ValueError`."""
    delays = tuple(float(delay) for delay in text.split(","))
    if not all(0 < delay <= MAX_DELAY_S for delay in delays):
        raise ValueError(f"a delay is more than 0 and at most {MAX_DELAY_S:.0f} s")
    return delays


def checked_by(parse: Callable[[str], object]) -> AfterValidator:
    """For a field that stays a text, and that `parse` must accept."""

    def check(value: str) -> str:
        parse(value)
        return value

    return AfterValidator(check)
