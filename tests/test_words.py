"""The glossary's replaced words stay away, and public docstrings and log messages are short and plain."""

from __future__ import annotations

import ast
import io
import itertools
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tests.api.openapi.contract import document
from tests.test_pages import BANNED, BREAK, END, MOST_WORDS_OF_A_SENTENCE, without_code, words

ROOT = Path(__file__).resolve().parent.parent
GLOSSARY = Path("docs/architecture.md")

SUFFIXES = {".py", ".lua", ".js", ".md", ".yaml", ".toml"}
ABOUT_OLD_NAMES = {GLOSSARY, Path("docker/UPGRADING.md")}
SPOKEN = ("training/corpus/sentences.py", "benchmarks/speech/", "tests/listening/")
"""Texts that are spoken and read have the words of their authors."""

NO_PROSE = (
    *("reading/documents/plain/gutenberg.py", "reading/documents/plain/numbering.py"),
    "reading/languages/vocabulary.py",
    *("rhapsode/bench/server/text_report.py", "storage/audio/language_codes.py", "storage/queue/transport.py"),
)
"""Their strings are lists of words, heads of columns, or Lua."""

ROOMS = ("api", "benchmarks", "reading", "rhapsode", "storage", "worker")
BANNED_IN_CODE = (*BANNED, "begins behind", "company", "goes on from", "had in", "spoken for", "told")

RIDDLES_OF_PAGE = (
    *("as a publisher takes", "empty in", "how it was", "in the hands", "nobody", "of the slots there are"),
    *("accepted and not over", "speech waits", "there is none of", "will be gone", "put(ting)? together", "taken up"),
    "of what was",
)
"""Of earlier versions."""

LOG_METHODS = {"debug", "info", "warning", "error", "exception", "critical"}
TABLE = re.compile(r"^(?: {4}|[├└│]|[-*] |.*\S {2,}\S).*$", re.MULTILINE)
STRING_OF_SCRIPT = re.compile(r"""/\*.*?\*/|//[^\n]*|("(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`)""", re.DOTALL)
COMMENTS_OF_SCRIPT = re.compile(STRING_OF_SCRIPT.pattern.replace(r"//[^\n]*", r"//[^\n]*(?:\n *//[^\n]*)*"), re.DOTALL)
FILLED = re.compile(r"\$\{[^{}]*\}")
PARAMETER = re.compile(r"(?:^|(?<=[.;]) )(?:\w+, )*\w+: ")
"""`name: text` of a docstring; each is a sentence, and its name is no word of it."""


def forbidden_words() -> list[str]:
    rows = [line.split("|") for line in (ROOT / GLOSSARY).read_text().splitlines() if line.startswith("| ")]
    glossary = [row for row in rows if len(row) == 5 and row[3].strip() not in {"", "not"}]
    return [word.strip() for row in glossary for word in row[3].split(",")]


def files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [Path(line) for line in listed.splitlines()]
    return [
        path
        for path in paths
        if path.suffix in SUFFIXES
        and path not in ABOUT_OLD_NAMES
        and not str(path).startswith(SPOKEN)
        and (ROOT / path).is_file()
    ]


def suspects() -> Iterator[tuple[Path, str]]:
    """Files with the letters of a forbidden word: few, and the pattern takes its time."""
    letters = [word.replace("_", "") for word in forbidden_words()]
    for path in files():
        text = (ROOT / path).read_text()
        folded = text.replace("_", "").lower()
        if any(each in folded for each in letters):
            yield path, text


def test_the_glossary_forbids_something() -> None:
    assert len(forbidden_words()) > 10


def test_a_word_that_was_replaced_does_not_come_back() -> None:
    # As a part of a name, too, in either spelling of names.
    spellings = [(rf"(?<![a-zA-Z]){word}s?(?![a-z])", rf"{_camel(word)}(?![a-z])") for word in forbidden_words()]
    pattern = re.compile("|".join(itertools.chain(*spellings)))
    found = [
        f"{path}:{number}: {match.group()}"
        for path, text in suspects()
        for number, line in enumerate(text.splitlines(), start=1)
        if (match := pattern.search(line))
    ]

    assert not found, f"the glossary of {GLOSSARY} has other words"


def public_docstrings(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            is_public = isinstance(node, ast.Module) or not node.name.startswith("_")
            if is_public and (text := ast.get_docstring(node)):
                yield text


def log_messages(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=name), args=[ast.Constant(value=str(text)), *_]):
                if name in LOG_METHODS:
                    yield text
            case _:
                """Another node."""


def all_comments(path: Path) -> str:
    """Comments and every docstring, also of private names and of attributes."""
    source = (ROOT / path).read_text()
    if path.suffix == ".lua":
        return "\n".join(line.partition("--")[2] for line in source.splitlines())
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = [token.string.lstrip("#") for token in tokens if token.type == tokenize.COMMENT]
    statements = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Expr))
    texts = (node.value for node in statements if isinstance(node, ast.Constant))
    return "\n\n".join([" ".join(comments), *(text for text in texts if isinstance(text, str))])


def sentences_of(text: str) -> list[str]:
    paragraphs = BREAK.split(TABLE.sub("\n", without_code(text)))
    parts = itertools.chain(*(PARAMETER.split(" ".join(each.split())) for each in paragraphs))
    return [each for part in parts for each in END.split(part) if words(each)]


def with_banned_words(text: str) -> list[str]:
    banned = re.compile(rf"\b({'|'.join(BANNED_IN_CODE)})\b")
    return [each for each in sentences_of(text) if banned.search(each.lower())]


def faults_of(text: str) -> list[str]:
    long = [each for each in sentences_of(text) if len(words(each)) > MOST_WORDS_OF_A_SENTENCE]
    return long + with_banned_words(text)


def written_in(root: str) -> list[Path]:
    kinds = {".py", ".lua"}
    return [path for path in files() if path.parts[0] == root and path.suffix in kinds]


@pytest.mark.parametrize("root", ROOMS)
def test_comments_are_plain(root: str) -> None:
    found = {str(path): faults for path in written_in(root) if (faults := with_banned_words(all_comments(path)))}

    assert found == {}


def strings_of(source: str) -> Iterator[str]:
    """Every string that is no docstring and has a space; what an f-string fills in counts as one word."""
    tree = ast.parse(source)
    docstrings = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
    parts = {id(part) for each in ast.walk(tree) if isinstance(each, ast.JoinedStr) for part in each.values}
    for each in ast.walk(tree):
        text = ""
        if isinstance(each, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "filled" for part in each.values)
        elif isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in docstrings | parts:
            text = each.value
        if " " in text:
            yield text


def strings_of_page(script: str) -> Iterator[str]:
    for text in STRING_OF_SCRIPT.findall(script):
        if " " in text:
            yield FILLED.sub("filled", text[1:-1])


def comments_of_page(script: str) -> Iterator[str]:
    """Comments in a row are one text."""
    for match in COMMENTS_OF_SCRIPT.finditer(script):
        if match[1] is None:
            yield re.sub(r"^ *(/\*+|\*/|\*|//)|\*/$", "", match[0], flags=re.MULTILINE)


@pytest.mark.parametrize("root", [root for root in ROOMS if root != "benchmarks"])
def test_problems_settings_errors_and_other_messages_are_short_and_plain(root: str) -> None:
    files = [path for path in written_in(root) if path.suffix == ".py" and str(path) not in NO_PROSE]
    found = {
        str(path): faults
        for path in files
        if (faults := [fault for text in strings_of((ROOT / path).read_text()) for fault in faults_of(text)])
    }

    assert found == {}


def test_the_api_describes_its_operations_and_fields_in_plain_words() -> None:
    texts = set(described(document()))
    assert len(texts) > 1_000

    assert [fault for text in texts for fault in faults_of(text)] == []


def described(part: Any) -> Iterator[str]:
    """Titles, summaries and descriptions of an OpenAPI document."""
    if isinstance(part, dict):
        for name, value in cast("dict[str, Any]", part).items():
            if name in {"title", "summary", "description"} and isinstance(value, str):
                yield value
            else:
                yield from described(value)
    elif isinstance(part, list):
        for value in cast("list[Any]", part):
            yield from described(value)


def test_the_page_speaks_plainly() -> None:
    scripts = [path for path in files() if path.suffix == ".js" and str(path).startswith("api/page/")]
    sources = [(ROOT / path).read_text() for path in scripts]
    texts = [text for source in sources for text in strings_of_page(source)]
    texts.append((ROOT / "api/page/index.html").read_text())
    comments = [text for source in sources for text in comments_of_page(source)]
    assert len(texts) > 500
    assert len(comments) > 200

    assert [fault for text in (*texts, *comments) for fault in faults_of(text)] == []
    riddle = re.compile("|".join(RIDDLES_OF_PAGE), re.IGNORECASE)
    assert [text for text in texts if riddle.search(text)] == []


def test_strings_are_told_from_comments_and_docstrings() -> None:
    python = 'def f(x):\n    """It is told."""\n    return f"who waits {x} s" + "in vain, too" + "heard"  # heard of it'
    script = '/* "in vain" */ f("who waits", `behind it ${x}`, "heard"); // "is told that"'

    assert list(strings_of(python)) == ["who waits filled s", "in vain, too"]
    assert list(strings_of_page(script)) == ["who waits", "behind it filled"]
    assert next(comments_of_page(f"// One\n  // comment.\n{script}")).split() == ["One", "comment."]
    assert [text.strip() for text in comments_of_page(script)] == ['"in vain"', '"is told that"']


@pytest.mark.parametrize("root", ROOMS)
def test_docstrings_and_log_messages_are_short_and_plain(root: str) -> None:
    found: dict[str, list[str]] = {}
    for path in written_in(root):
        if path.suffix == ".py":
            tree = ast.parse((ROOT / path).read_text())
            texts = [*public_docstrings(tree), *log_messages(tree)]
            if faults := [fault for text in texts for fault in faults_of(text)]:
                found[str(path)] = faults

    assert found == {}


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("Do this.\n\npath: a file (`a b`). size, rate: in Hz; heard: what was read.", [2, 3, 2, 3]),
        ("Codes:\n\nname   a row of a table\n    an indented block\n- an item\n\nAnd this.", [1, 2]),
    ],
)
def test_parameters_are_sentences_and_tables_are_none(text: str, lengths: list[int]) -> None:
    assert [len(words(each)) for each in sentences_of(text)] == lengths


@pytest.mark.parametrize("text", ["word " * 31, "It is told twice.", "Each has a thread of its own."])
def test_a_long_sentence_and_a_banned_word_are_found(text: str) -> None:
    tree = ast.parse(f'def f():\n    """{text}"""\n    log.info("{text}")')

    assert [faults_of(each) for each in (*public_docstrings(tree), *log_messages(tree))] == [[text.strip()]] * 2


def _camel(word: str) -> str:
    return "".join(part.capitalize() for part in word.split("_"))
