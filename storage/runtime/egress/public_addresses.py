"""Which addresses are the public's. `ipaddress.is_global` is not enough: on Python 3.11 it lets NAT64, 6to4,
192.0.0.0/24 and multicast pass, through which private addresses can be reached or named. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from storage.runtime.egress.errors import AddressBlocked

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

BLOCKED_IPV4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this host
            "10.0.0.0/8",
            "100.64.0.0/10",  # carriers, and one cloud's metadata
            "127.0.0.0/8",
            "169.254.0.0/16",  # link-local, and the other clouds' metadata
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",  # documentation
            "192.31.196.0/24",  # AS112
            "192.52.193.0/24",  # AMT
            "192.88.99.0/24",  # 6to4 relays
            "192.168.0.0/16",
            "192.175.48.0/24",  # AS112
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, broadcast
        ),
    )
)

PUBLIC_IPV6 = IPv6Network("2000::/3")
"""All that is assigned for unicast on the internet; loopback, mapped, NAT64, local and multicast lie outside."""

BLOCKED_IPV6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments, Teredo (which carries IPv4 addresses)
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4, which carries IPv4 addresses
            "2620:4f:8000::/48",  # AS112
            "3fff::/20",  # documentation
        ),
    )
)


@dataclass(frozen=True, slots=True)
class AddressRules:
    """allowed: networks of our own that may be reached although they are private; empty for the open internet."""

    allowed: tuple[Network, ...] = ()

    def check(self, address: str) -> Address:
        """The address, if it may be dialled. Raises `AddressBlocked`."""
        try:
            parsed = ip_address(address)
        except ValueError as error:
            raise AddressBlocked(f"{address!r} is no address") from error
        plain = (parsed.ipv4_mapped or parsed) if isinstance(parsed, IPv6Address) else parsed
        if not self.is_allowed(plain) and not is_public(plain):
            raise AddressBlocked(f"{address} is not a public address")
        return plain

    def is_allowed(self, address: Address) -> bool:
        """Whether it lies in a network of our own."""
        return any(address.version == network.version and address in network for network in self.allowed)


def is_public(address: Address) -> bool:
    """Whether it is reachable from the internet. IPv4 addresses written as IPv6 are to be unwrapped before."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in BLOCKED_IPV4)
    return address in PUBLIC_IPV6 and not any(address in network for network in BLOCKED_IPV6)
