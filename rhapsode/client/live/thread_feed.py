"""The synchronous client's text on its way to the server: sent by a thread of its own, while the speech is read."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from rhapsode.client.live.conversation import Conversation


class Feed:
    """failure: what the caller's iterator raised. is_left: nobody waits for the speech any more."""

    failure: BaseException | None = None
    is_left: bool = False

    def check(self) -> None:
        """Raises what the caller's own iterator raised."""
        if self.failure is not None:
            raise self.failure


@contextmanager
def feeding(line: ClientConnection, conversation: Conversation, texts: Iterable[str]) -> Generator[Feed]:
    """Send the text while the block runs. An iterator that fails closes the line, and `check` raises its error.

    The thread ends with the iterator's next piece; one that never comes does not keep the program from its end.
    """
    feed = Feed()
    threading.Thread(target=_feed, args=(line, conversation, texts, feed), name="rhapsode-text", daemon=True).start()
    try:
        yield feed
    finally:
        feed.is_left = True


def _feed(line: ClientConnection, conversation: Conversation, texts: Iterable[str], feed: Feed) -> None:
    # The line's end is the reader's to tell.
    with suppress(ConnectionClosed):
        try:
            for text in texts:
                if feed.is_left:
                    return
                for message in conversation.append(text):
                    line.send(message)
        except ConnectionClosed:
            raise
        except BaseException as error:  # noqa: BLE001 - the caller's own, handed to the caller
            feed.failure = error
            line.close()
            return
        line.send(conversation.end())
