"""Draw every secret that compose.yaml wants into a folder: `python3 docker/draw_secrets.py`. Needs nothing installed.

A file that is there is kept, so running this again completes a folder and changes nothing. The folder is its owner's
alone; the files in it can be read by the containers' users, who see those that they are given.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sys
from pathlib import Path

FOLDER = Path(__file__).parent / "secrets"


def draw(folder: Path) -> list[Path]:
    """Returns the files that were made."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    made: list[Path] = []
    redis_password = _kept(folder / "redis_password", secrets.token_urlsafe(32), made)
    _kept(folder / "valkey_password.conf", f"requirepass {redis_password}\n", made)
    _kept(folder / "redis_url", f"redis://:{redis_password}@valkey:6379/0", made)
    operator_key = _kept(folder / "operator_key", f"rh_{secrets.token_urlsafe(32)}", made)
    digest = hashlib.sha256(operator_key.encode()).hexdigest()
    _kept(folder / "api_keys.json", json.dumps({digest: "operator"}), made)
    _kept(folder / "webhook_key", secrets.token_urlsafe(32), made)
    access_key = _kept(folder / "s3_access_key", f"rhapsode{secrets.token_hex(6)}", made)
    secret_key = _kept(folder / "s3_secret_key", secrets.token_urlsafe(30), made)
    _kept(folder / "s3_credentials", _boto_profile(access_key, secret_key), made)
    _kept(folder / "s3_server.json", _server_identity(access_key, secret_key), made)
    _kept(folder / "decoder", f"ws://:{secrets.token_urlsafe(32)}@decoder-worker:7777/cpu", made)
    _kept(folder / "grafana_password", secrets.token_urlsafe(18), made)
    return made


def _boto_profile(access_key: str, secret_key: str) -> str:
    return f"[default]\naws_access_key_id = {access_key}\naws_secret_access_key = {secret_key}\n"


def _server_identity(access_key: str, secret_key: str) -> str:
    credentials = [{"accessKey": access_key, "secretKey": secret_key}]
    return json.dumps({"identities": [{"name": "rhapsode", "credentials": credentials, "actions": ["Admin"]}]})


def _kept(path: Path, content: str, made: list[Path]) -> str:
    """What the file holds; `content` if there was none."""
    if not path.exists():
        draft = path.with_name(f"{path.name}.draft")
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), "w") as file:
            file.write(content)
        draft.replace(path)
        made.append(path)
    return path.read_text()


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    made = draw(folder)
    sys.stdout.writelines(f"{path}\n" for path in made)
    sys.stdout.write(f"{len(made)} secrets drawn; the operator's key is in {folder / 'operator_key'}\n")


if __name__ == "__main__":
    main()
