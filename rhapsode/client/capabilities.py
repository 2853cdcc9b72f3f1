"""What a server can do, as it says itself: for programs that offer their users a choice."""

from __future__ import annotations

from rhapsode.client.calls import ApiCall, resource
from rhapsode.contract.capabilities import Capabilities


def get_capabilities() -> ApiCall[Capabilities]:
    return ApiCall("GET", "/v1/capabilities", resource(Capabilities))
