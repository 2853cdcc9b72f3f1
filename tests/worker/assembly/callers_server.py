"""A bucket's server that does as a test tells it: real requests over a real socket, answers from a list."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.threads import join_in_time


@dataclass
class Script:
    """refusals: what the next PUTs are answered, and in which words. on_put: called with the path of each that came."""

    refusals: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    kept: dict[str, tuple[bytes, str]] = field(default_factory=dict[str, tuple[bytes, str]])
    puts: list[str] = field(default_factory=list[str])
    on_put: Callable[[str], None] = lambda _: None
    url: str = ""


@contextmanager
def serving(script: Script) -> Generator[Script]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_PUT(self) -> None:
            script.on_put(self.path)
            body = self.rfile.read(int(self.headers["Content-Length"]))
            script.puts.append(self.path)
            status, words = script.refusals.pop(0) if script.refusals else (200, "")
            if status == 200:
                script.kept[self.path] = body, self.headers["x-amz-meta-sha256"]
            self._answer(status, words.encode())

        def do_HEAD(self) -> None:
            body, sha256 = script.kept.get(self.path, (b"", ""))
            self.send_response(200 if sha256 else 404)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("x-amz-meta-sha256", sha256)
            self.end_headers()

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: the test's own output is enough."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        script.url = f"http://127.0.0.1:{server.server_address[1]}"
        yield script
    finally:
        server.shutdown()
        join_in_time(thread)
        server.server_close()
