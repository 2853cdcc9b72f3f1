"""A receiver of webhooks that is often unwell, and remembers everything that came."""

from __future__ import annotations

import random
import threading
from collections import Counter, defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from rhapsode.webhooks import WebhookEvent, verify


@dataclass
class Receiver:
    """bodies: what came under each id. events: what was taken, once for each id, as a receiver that dedupes has it.

    secrets: by path. fails, loses: shares of requests that are answered with 500, or taken and never answered.
    duplicates: by how the event had been taken before: "answered", "lost" or "held".
    """

    fails: float
    loses: float
    dice: random.Random
    secrets: dict[str, str] = field(default_factory=dict)
    bodies: dict[str, set[bytes]] = field(default_factory=lambda: defaultdict(set))
    events: dict[str, WebhookEvent] = field(default_factory=dict)
    posts: int = 0
    refused: int = 0
    lost: int = 0
    duplicates: Counter[str] = field(default_factory=Counter)
    url: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)
    holding: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    let_go: threading.Event = field(default_factory=threading.Event)
    holds_next: bool = False
    taken: dict[str, str] = field(default_factory=dict)

    def hold_next(self) -> None:
        """Take the next new event and keep it waiting for its answer until `let_go` is set; `holding` says when."""
        with self.lock:
            self.let_go.clear()
            self.holds_next = True

    def take(self, path: str, body: bytes, headers: dict[str, str]) -> int | None:
        """The status to answer with; None for no answer at all. Raises `WebhookRefused` for a bad signature."""
        event = verify(body, headers, self.secrets[path])
        with self.lock:
            how = self._received(event, body)
        if how == "held":
            self.holding.release()
            self.let_go.wait()
        return {"refused": 500, "answered": 204}.get(how)

    def jobs_told(self) -> set[str]:
        """The jobs that the events are about."""
        with self.lock:
            events = list(self.events.values())
        told: set[str] = set()
        for event in events:
            job = event.data["job"]
            assert isinstance(job, dict)
            told.add(str(job["id"]))
        return told

    def _received(self, event: WebhookEvent, body: bytes) -> str:
        """What is done with it: "refused", "answered", "lost" or "held"."""
        self.posts += 1
        self.bodies[event.id].add(body)
        fate = self.dice.random()
        if fate < self.fails:
            self.refused += 1
            return "refused"
        how = "lost" if fate < self.fails + self.loses else "answered"
        if event.id in self.events:
            self.duplicates[self.taken[event.id]] += 1
        elif self.holds_next:
            self.holds_next, how = False, "held"
        self.lost += how == "lost"
        self.events[event.id] = event
        self.taken[event.id] = how
        return how


@contextmanager
def receiving(fails: float, loses: float, seed: int) -> Generator[Receiver]:
    receiver = Receiver(fails, loses, random.Random(seed))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            status = receiver.take(self.path, body, dict(self.headers.items()))
            if status is not None:
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Thousands of lines."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield receiver
        server.shutdown()
