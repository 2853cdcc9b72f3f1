"""Ends with 0 if a process of this container answers: `probe.py http://127.0.0.1:8765/readyz`."""

from __future__ import annotations

import sys
import urllib.error
import urllib.request

TIMEOUT_S = 4.0


def main() -> None:
    # No proxy: what is asked is in this container.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(sys.argv[1], timeout=TIMEOUT_S):
            pass
    except (OSError, urllib.error.HTTPError) as error:
        sys.exit(f"{sys.argv[1]}: {error}")


if __name__ == "__main__":
    main()
