"""A client process: reads its task, says that it is ready, reads when to begin, and says what came of each request."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import asdict

from pydantic import TypeAdapter

from rhapsode.bench.server.load.client import Client
from rhapsode.bench.server.load.messages import ClientTask, Message, Ready


def main() -> None:
    task = TypeAdapter(ClientTask).validate_json(sys.stdin.readline())
    say(Ready())
    asyncio.run(Client(task, float(sys.stdin.readline()), say).run())


def say(message: Message) -> None:
    sys.stdout.write(json.dumps(asdict(message)) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
