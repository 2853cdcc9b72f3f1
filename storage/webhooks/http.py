"""The client that posts webhooks and checks receivers' URLs, as the settings have it."""

from __future__ import annotations

from storage.runtime.config.webhook_options import parse_networks
from storage.runtime.egress.client import AttemptTimes, SafeHttp, UrlRules
from storage.runtime.egress.public_addresses import AddressRules

CONNECT_S = 3.0
TOTAL_S = 15.0


def webhook_client(allow_private: str) -> SafeHttp:
    """allow_private: networks of one's own, where plain http and any port will do; "" for the internet alone."""
    rules = UrlRules(addresses=AddressRules(parse_networks(allow_private)))
    return SafeHttp(rules, AttemptTimes(CONNECT_S, TOTAL_S))
