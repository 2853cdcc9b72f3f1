"""What MkDocs does not do by itself for a site whose pages lie beside the code: `mkdocs.yml` names this file."""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from generators import error_pages  # noqa: E402 - from the tree that this file is of

FOLDERS = (
    ".github",
    "api",
    "benchmarks",
    "docker",
    "docs",
    "examples",
    "generators",
    "reading",
    "rhapsode",
    "storage",
    "worker",
)
PICTURES = ("docs/pictures", "api/page/icon.svg")
ERRORS = "errors"
"""Where the pages of problem codes are, as they are at a running server."""

Nav = Sequence[Mapping[str, "str | Nav"]]
"""Pages, and sections of them, by the names that they have there."""

FENCE = re.compile(r"^( *)(```+)(\w*).*$")
LINK = re.compile(r"\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)\)")
SOUND = re.compile(r"\]\(([^)\s]+\.mp3)\)")
PLAYER = '\n\n<audio controls preload="none" src="{}"></audio>'
CODE_CELL = re.compile(r"^\| `([a-z_]+)` \|")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Pages that nobody gave a place in `nav` have one at its end."""
    placed = set(_pages(config.nav))
    others = sorted(path for path in _pages_beside_the_code() if path not in placed)
    if others:
        config.nav.append({"More": [{path: path} for path in others]})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Every page of `nav` from where it lies, what they show, and a page for each problem code."""
    for path in (*_pages(config.nav), *_shown()):
        file = File.generated(config, path, abs_src_path=str(ROOT / path))
        # A folder whose name begins with a dot is hidden from some servers.
        file.dest_uri = file.dest_uri.lstrip(".")
        files.append(file)
    for code, text in error_pages.error_pages():
        files.append(File.generated(config, f"{ERRORS}/{code}.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """As a forge shows it: fences without what only tests read, no links to what is no page, sound that plays."""
    of_errors = page.file.src_uri == error_pages.MADE.as_posix()
    lines: list[str] = []
    fence = ""
    for line in (*markdown.splitlines(), ""):
        if found := FENCE.match(line):
            fence = "" if fence else found[2]
            lines.append(f"{found[1]}{found[2]}{found[3]}")
        elif fence:
            lines.append(line)
        else:
            linked = _with_error_page(line, page.file.src_uri) if of_errors else line
            lines.append(LINK.sub(lambda link: _link(link, page.file.src_uri, files), linked))
    return _with_players("\n".join(lines))


def _with_players(markdown: str) -> str:
    """A player below each paragraph that leads to sound."""
    paragraphs = markdown.split("\n\n")
    return "\n\n".join(f"{each}{''.join(map(PLAYER.format, SOUND.findall(each)))}" for each in paragraphs)


def _with_error_page(line: str, source: str) -> str:
    way = posixpath.relpath(ERRORS, posixpath.dirname(source))
    return CODE_CELL.sub(rf"| [`\1`]({way}/\1.md) |", line)


def _link(link: re.Match[str], source: str, files: Files) -> str:
    target = link["target"]
    if ":" in target or target.startswith("#"):
        return link[0]
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target.partition("#")[0]))
    if files.get_file_from_path(path) is None and (ROOT / path).exists():
        return link["text"]
    # What does not exist at all is left to MkDocs, which names the page and ends with an error.
    return link[0]


def _pages(nav: Nav) -> Iterator[str]:
    for entry in nav:
        for content in entry.values():
            if isinstance(content, str):
                yield content
            else:
                yield from _pages(content)


def _pages_beside_the_code() -> Iterator[str]:
    for folder in FOLDERS:
        for page in (ROOT / folder).rglob("*.md"):
            yield page.relative_to(ROOT).as_posix()


def _shown() -> Iterator[str]:
    for name in PICTURES:
        path = ROOT / name
        for file in sorted(path.iterdir()) if path.is_dir() else [path]:
            yield file.relative_to(ROOT).as_posix()
