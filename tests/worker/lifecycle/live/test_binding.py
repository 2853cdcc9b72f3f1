"""At which address a worker serves live speech."""

from __future__ import annotations

import pytest

from storage.runtime.config.settings import SettingsError
from worker.lifecycle.live.server import address_towards


@pytest.mark.parametrize(
    "redis_url",
    ["unix:///run/valkey.sock?db=0", "unix://:password@/run/valkey.sock?db=0", "redis://127.0.0.1:6379/0", "redis://"],
)
def test_beside_redis_it_is_this_machine_alone(redis_url: str) -> None:
    assert address_towards(redis_url) == "127.0.0.1"


def test_in_a_network_it_is_the_address_from_which_redis_is_reached() -> None:
    assert address_towards("rediss://127.9.9.9:6380/0") == "127.0.0.1"


def test_a_name_that_nobody_knows_asks_for_the_setting() -> None:
    with pytest.raises(SettingsError, match="RHAPSODE_LIVE_HOST"):
        address_towards("redis://no-such-host.invalid:6379/0")
