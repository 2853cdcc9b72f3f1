"""The synchronous client, made from the asyncio client: `await` goes, `async with` becomes `with`, names lose `Async`.

A line of the asyncio client becomes the line of the synchronous one by itself, docstrings and their examples too. What
differs in more than its colour is in `WORDS`; what neither covers is refused.

It is not in git: each install makes it (`build_hook.py`), and so does `python -m generators.sync_client`.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WRITTEN = Path("rhapsode/client/aio")
MADE = Path("rhapsode/client/sync")

RULES = (
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\bAsyncByteStream\b", "SyncByteStream"),
    (r"\b(Abstract)?Async(?=[A-Z])", r"\1"),
    (r"\bAwaitable\[(\w+)\]", r"\1"),
    (r"\b__a(enter|exit|iter|next)__\b", r"__\1__"),
    (r"\banext\(", "next("),
    (r"\ba(close|read|iter_bytes|iter_lines|iter_sse)\(", r"\1("),
    # A thread is for work that would hold up the event loop; without one, the caller's own does it.
    (r"\basyncio\.to_thread\(([\w.]+)(?:, )?", r"\1("),
    (r"\basyncio\.sleep\b", "time.sleep"),
    (r"\basyncio\.CancelledError\b", "KeyboardInterrupt"),
    (r"^import asyncio$", "import time"),
    (r"^import time\n(?![\s\S]*\btime\.sleep)", ""),
    (r"\bAwaitable, (?![\s\S]*\bAwaitable\b)", ""),
    (r"\brhapsode\.client\.aio\b", "rhapsode.client.sync"),
    # Two things are done at once there: the synchronous client has a thread for them.
    (r"\btask_dictation\b", "thread_dictation"),
)
"""Each for every place, in this order. What nothing uses afterwards is not imported."""

WORDS = {
    "The asyncio client.": "The synchronous client.",
    "for one event loop": "threads may share it",
    "who is cancelled": "who is interrupted",
}
"""What the docstrings of the two say otherwise. Each has to occur."""

UNNAMED = re.compile(r"(?<![\w\])])\(await ")
"""What is awaited in brackets of its own would keep them; it wants a name."""

LEFT_OVER = re.compile(r"\b(?:async|await|asyncio|aio|__a(?:enter|exit|iter|next)__)\b|\bAsync[A-Z]")


def write_sync_client() -> None:
    """Writes what has changed, and removes modules whose source is gone."""
    modules = sync_client()
    for path in set((ROOT / MADE).glob("*.py")) - modules.keys():
        path.unlink()
    (ROOT / MADE).mkdir(exist_ok=True)
    for path, text in modules.items():
        if not path.exists() or path.read_text() != text:
            # Another install may read it meanwhile.
            (unfinished := path.with_suffix(".made")).write_text(text)
            unfinished.replace(path)


def sync_client() -> dict[Path, str]:
    written = {path.name: path.read_text() for path in sorted((ROOT / WRITTEN).glob("*.py"))}
    unused = [words for words in WORDS if not any(words in text for text in written.values())]
    if unused:
        raise ValueError(f"no docstring of {WRITTEN} says {unused[0]!r} any more")
    return {ROOT / MADE / name: _head(name) + made(text, name) if text else "" for name, text in written.items()}


def made(text: str, name: str) -> str:
    """Raises `ValueError` for what no rule covers."""
    _refuse(UNNAMED, text, name)
    for words, others in WORDS.items():
        text = text.replace(words, others)
    for pattern, replacement in RULES:
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    _refuse(LEFT_OVER, text, name)
    return text


def _refuse(uncovered: re.Pattern[str], text: str, name: str) -> None:
    if left := uncovered.search(text):
        number = text.count("\n", 0, left.start()) + 1
        raise ValueError(f"{WRITTEN / name}:{number}: no rule of {Path(__file__).name} covers {left.group()!r}")


def _head(name: str) -> str:
    return f"# Made from {WRITTEN / name}; change that file, not this one.\n"


if __name__ == "__main__":
    write_sync_client()
