"""A hub on this machine that speaks Hugging Face's protocol as `huggingface_hub` asks it: what a model is, and its
files with Range. Large files have a sha256 as those in Git LFS have.
"""

from __future__ import annotations

import hashlib
import http.server
import json
import re
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from tests.threads import join_in_time

LFS_FROM = 10_000
ROUTE = re.compile(r"/api/models/(?P<repo>[^/]+/[^/]+)(/revision/(?P<revision>[^/]+))?")
FILE = re.compile(r"/(?P<repo>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<path>.+)")


@dataclass
class LocalHub:
    """files: of each repository, by path. refusal: status and error code of every answer instead.

    stall_after: so many bytes of a large file are sent, then nothing until `go_on`. damage: other bytes are sent for
    this path than are listed. sent: (path, first byte) of each GET of a file.
    """

    files: Mapping[str, Mapping[str, bytes]]
    commit: str = "a" * 40
    url: str = ""
    refusal: tuple[int, str] | None = None
    token: str | None = None
    size_told: int | None = None
    stall_after: int | None = None
    damage: str = ""
    sent: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    stalled: threading.Event = field(default_factory=threading.Event)
    go_on: threading.Event = field(default_factory=threading.Event)

    def listed(self, path: str, data: bytes) -> dict[str, object]:
        blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        size = len(data) if self.size_told is None else self.size_told
        entry: dict[str, object] = {"rfilename": path, "size": size, "blobId": blob}
        if len(data) < LFS_FROM:
            return entry
        lfs = {"sha256": hashlib.sha256(data).hexdigest(), "size": size, "pointerSize": 134}
        return entry | {"blobId": "0" * 40, "lfs": lfs}


@contextmanager
def serving(hub: LocalHub) -> Generator[LocalHub]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            address = unquote(urlsplit(self.path).path)
            if hub.refusal:
                self._say(*hub.refusal)
            elif hub.token and self.headers.get("Authorization") != f"Bearer {hub.token}":
                self._say(401, "")
            elif found := ROUTE.fullmatch(address):
                self._describe(found)
            elif found := FILE.fullmatch(address):
                self._send_file(found["repo"], found["path"])
            else:
                self._say(404, "EntryNotFound")

        def _describe(self, found: re.Match[str]) -> None:
            files = hub.files.get(found["repo"])
            if files is None:
                self._say(404, "RepoNotFound")
            elif found["revision"] not in (None, "main", hub.commit):
                self._say(404, "RevisionNotFound")
            else:
                entries = [hub.listed(path, data) for path, data in files.items()]
                licence = {"license": "apache-2.0"}
                model = {"id": found["repo"], "sha": hub.commit, "siblings": entries, "cardData": licence}
                self._say(200, "", json.dumps(model).encode())

        def _send_file(self, repo: str, path: str) -> None:
            data = hub.files[repo][path]
            first = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").split("-")[0])
            self.send_response(206 if first else 200)
            if first:
                self.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
            self.send_header("Content-Length", str(len(data) - first))
            self.end_headers()
            hub.sent.append((path, first))
            if hub.damage == path:
                data = bytes(byte ^ 1 for byte in data)
            if hub.stall_after is not None and len(data) - first > hub.stall_after:
                self.wfile.write(data[first : first + hub.stall_after])
                self.wfile.flush()
                hub.stalled.set()
                hub.go_on.wait()
                first += hub.stall_after
            self.wfile.write(data[first:])

        def _say(self, status: int, code: str, body: bytes = b"{}") -> None:
            self.send_response(status)
            if code:
                self.send_header("X-Error-Code", code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def handle(self) -> None:
            # A client that was ended has closed its connection.
            try:
                super().handle()
            except ConnectionError:
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        hub.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield hub
        finally:
            hub.go_on.set()
            server.shutdown()
            join_in_time(thread)
