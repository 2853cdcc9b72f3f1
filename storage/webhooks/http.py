"""The clients that go to addresses which callers or operators name. Each kind of address has its allowed networks."""

from __future__ import annotations

from storage.runtime.config.webhook_options import parse_networks
from storage.runtime.egress.client import SafeHttp
from storage.runtime.egress.connecting import AttemptTimes
from storage.runtime.egress.kept import KeptHttp
from storage.runtime.egress.public_addresses import AddressRules
from storage.runtime.egress.url_rules import UrlRules

CONNECT_S = 3.0
TOTAL_S = 15.0


def safe_client(allow_private: str = "") -> SafeHttp:
    """allow_private: networks of one's own, where plain http and any port will do; "" for the internet alone."""
    return SafeHttp(_rules(allow_private), AttemptTimes(CONNECT_S, TOTAL_S))


def webhook_client(allow_private: str) -> KeptHttp:
    """For the loop that delivers; as `safe_client` otherwise."""
    return KeptHttp(_rules(allow_private), AttemptTimes(CONNECT_S, TOTAL_S))


def _rules(allow_private: str) -> UrlRules:
    return UrlRules(addresses=AddressRules(parse_networks(allow_private)))
