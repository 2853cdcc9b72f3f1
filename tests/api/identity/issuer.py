"""An issuer of tokens on this machine: its documents over HTTP, its keys, and what it signs."""

from __future__ import annotations

import http.server
import json
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey

AUDIENCE = "https://speech.example.org"

Key = RSAKey | ECKey | OKPKey | OctKey


class Issuer:
    """answers: path -> document; a path that is not there is 404. asked: paths in their order."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[str] = []
        self.key = RSAKey.generate_key(2048, {"kid": "first", "use": "sig"})
        self.answers: dict[str, Any] = {
            "/.well-known/openid-configuration": {"issuer": url, "jwks_uri": f"{url}/keys"},
        }
        self.publish(self.key)

    def publish(self, *keys: Key) -> None:
        self.answers["/keys"] = {"keys": [key.as_dict(private=False) for key in keys]}

    def token(self, algorithm: str = "RS256", key: Key | None = None, **claims: Any) -> str:
        """For half a minute, unless the claims say otherwise; a claim that is None is left out."""
        signer = key or self.key
        said = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": "ann@example.org",
            "exp": int(time.time()) + 30,
            "tenant": "ann",
        }
        header = {"alg": algorithm, **({"kid": signer.kid} if signer.kid else {})}
        content = {name: value for name, value in (said | claims).items() if value is not None}
        return jwt.encode(header, content, signer, algorithms=[algorithm])


@contextmanager
def serving_issuer() -> Generator[Issuer]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.asked.append(self.path)
            answer = issuer.answers.get(self.path)
            body = json.dumps(answer).encode()
            self.send_response(200 if answer is not None else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        issuer = Issuer(f"http://127.0.0.1:{server.server_address[1]}")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield issuer
        server.shutdown()
