"""Events as they are sent."""

from __future__ import annotations

import json

from api.openai.socket.actions import Message


def as_json(message: Message) -> str:
    """In ASCII: a quoted text may hold half a surrogate pair, which JSON can spell and UTF-8 cannot."""
    return json.dumps(message, separators=(",", ":"))
