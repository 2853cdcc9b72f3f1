"""What a program says that is not ours, as lines of the log like all others: JSON, with the fields that ours have.

    python -I -S foreign_lines.py NAME < WHAT IT SAYS >> ITS LOG

Run as a file between the program and its log (see `rhapsode.stack.supervision.log_writer`); it knows the standard
library alone, so that it starts in a moment and is small. Times that a program writes without a zone are UTC: it is
started so. A line without a head that tells more is an event all the same.
"""

from __future__ import annotations

import json
import os
import re
import sys
from datetime import UTC, datetime

MOST_LINE_BYTES = 16_384
"""What is longer becomes several lines."""

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

_VALKEY = re.compile(
    rf"(?P<pid>\d{{1,10}}):[A-Z] (?P<day>\d\d) (?P<month>{'|'.join(_MONTHS)}) (?P<year>\d{{4}}) "
    r"(?P<time>\d\d:\d\d:\d\d\.\d{3}) (?P<level>[.*#-]) (?P<event>.*)"
)
_VALKEY_LEVELS = {".": "debug", "-": "debug", "*": "info", "#": "warning"}


def valkey_line(text: str) -> dict[str, object]:
    """Without a head come the reasons for which it does not start, and the report of a crash."""
    head = _VALKEY.fullmatch(text)
    if head is None:
        return {"event": text, "level": "error"}
    month = _MONTHS.index(head["month"]) + 1
    return {
        "event": head["event"],
        "pid": int(head["pid"]),
        "level": _VALKEY_LEVELS[head["level"]],
        "timestamp": f"{head['year']}-{month:02}-{head['day']}T{head['time']}000Z",
    }


DIALECTS = {"valkey": valkey_line}
"""By the name of the process."""


class Log:
    """Standard output. A full disk costs lines; how many, is said as soon as there is room."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lost = 0
        self._is_torn = False

    def tell(self, fields: dict[str, object]) -> None:
        lines = [fields]
        if self._lost:
            lines.insert(0, {"event": "lines were lost", "level": "error", "lines": self._lost})
        if self._write(b"".join(self._line(each) for each in lines)):
            self._lost = 0
        else:
            self._lost += 1

    def _line(self, fields: dict[str, object]) -> bytes:
        line = {"role": self._name, "logger": self._name, "timestamp": _now()} | fields
        return json.dumps({"event": line.pop("event"), **line}, ensure_ascii=False).encode() + b"\n"

    def _write(self, lines: bytes) -> bool:
        rest = b"\n" + lines if self._is_torn else lines
        try:
            while rest:
                rest = rest[os.write(sys.stdout.fileno(), rest) :]
                self._is_torn = bool(rest)
        except OSError:
            return False
        return True


def _now() -> str:
    return datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def main() -> None:
    name = sys.argv[1]
    read, log = DIALECTS[name], Log(name)
    while said := sys.stdin.buffer.readline(MOST_LINE_BYTES):
        if text := said.decode(errors="replace").rstrip():
            log.tell(read(text))


if __name__ == "__main__":
    main()
