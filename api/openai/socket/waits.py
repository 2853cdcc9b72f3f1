"""For how long the other side of a connection is waited for: its next message, a whole text, and in all. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from api.openai.socket.actions import AwaitedMessage
from storage.live.orders import NEXT_WORDS_S


@dataclass(frozen=True, slots=True)
class MessageTimeouts:
    """start_s, next_s, text_s: for the next message, by what it is waited for.

    whole_text_s: for one text from its beginning to its end, so that no client keeps an engine busy with a word now and
    then. connection_s: after which a connection begins no request any more.
    """

    start_s: float = 20.0
    next_s: float = 300.0
    text_s: float = NEXT_WORDS_S
    whole_text_s: float = 1800.0
    connection_s: float = 86_400.0

    def of(self, waiting: AwaitedMessage) -> float | None:
        match waiting:
            case AwaitedMessage.START:
                return self.start_s
            case AwaitedMessage.NEXT:
                return self.next_s
            case AwaitedMessage.TEXT:
                return self.text_s
            case AwaitedMessage.SPEECH:
                return None


class Waits:
    """Of one connection. Times are of one clock, in seconds."""

    def __init__(self, patience: MessageTimeouts, now_s: float) -> None:
        self._patience = patience
        self._expires_s: float | None = now_s + patience.connection_s
        self._text_until_s: float | None = None

    def left_s(self, waiting: AwaitedMessage, now_s: float) -> float | None:
        """For the next message, beginning now; None for as long as it takes. To be asked before each."""
        if waiting is not AwaitedMessage.TEXT:
            self._text_until_s = None
        elif self._text_until_s is None:
            self._text_until_s = now_s + self._patience.whole_text_s
        message_s = self._patience.of(waiting)
        ends = [end_s - now_s for end_s in (self._expires_s, self._text_until_s) if end_s is not None]
        every = [*ends, message_s] if message_s is not None else ends
        return max(0.0, min(every)) if every else None

    def has_expired(self, now_s: float) -> bool:
        """Whether the connection is as old as it may be."""
        return self._expires_s is not None and now_s >= self._expires_s

    def is_text_late(self, now_s: float) -> bool:
        """Whether the text that is being written has taken as long as it may."""
        return self._text_until_s is not None and now_s >= self._text_until_s

    def forget_expiry(self) -> None:
        """The other side knows that the connection ends."""
        self._expires_s = None
