from __future__ import annotations

import socket

import pytest

from rhapsode.stack.address import listen, url_of
from rhapsode.stack.errors import AddressRefused


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.2"])
def test_loopback_needs_no_keys_and_port_0_is_a_free_one(host: str) -> None:
    with listen(host, 0, "") as listener:
        assert url_of(listener).startswith("http://127.0.0.")
        assert listener.getsockname()[1] > 0


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
@pytest.mark.parametrize("keys", ["", " ", "{}"])
def test_other_addresses_are_refused_without_keys(host: str, keys: str) -> None:
    with pytest.raises(AddressRefused, match="RHAPSODE_API_KEYS"):
        listen(host, 0, keys)


def test_with_keys_every_interface_may_be_served_and_the_url_is_one_for_here() -> None:
    with listen("0.0.0.0", 0, '{"ab": "me"}') as listener:
        assert url_of(listener).startswith("http://127.0.0.1:")


def test_a_taken_port_comes_with_a_hint() -> None:
    with listen("127.0.0.1", 0, "") as first, pytest.raises(AddressRefused, match=r"taken by another program.*--port"):
        listen("127.0.0.1", first.getsockname()[1], "")


def test_an_address_of_another_machine_is_said_to_be_one() -> None:
    with pytest.raises(AddressRefused, match="not an address of this machine"):
        listen("192.0.2.1", 0, '{"ab": "me"}')


def test_accepted_connections_do_not_wait_for_full_packets() -> None:
    with listen("127.0.0.1", 0, "") as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
