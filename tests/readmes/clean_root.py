"""The pages from a bare machine to an audiobook, followed in a clean root: `python3 tests/readmes/clean_root.py`.

`debootstrap` makes a minimal Debian, with nothing but what the pages install. All commands are read from the pages: the
README's checkout, then the tutorials of the first audiobook and of one GPU box. A hub on this machine stands for the
public one, and serves the small voice under the published name. No step needs a GPU. It needs root and Linux, takes
4 GB of disk and 10 to 20 minutes, and removes the root. Python needs no package for it.

--pytorch: an index with PyTorch's CPU wheels, in place of the README's. --share FROM[:TO]: a path of this machine that
the root sees too, such as pip.conf or a folder of wheels, where the public index cannot be reached. Share no file that
a package of Debian writes: apt fails. Own authorities lie in /usr/local/share/ca-certificates. Port 8765 must be free.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.readmes.console_blocks import Example, command_blocks  # noqa: E402
from tests.readmes.masked_output import ID, ids_of, is_as_told  # noqa: E402
from tests.rhapsode.cli.local.local_hub import LocalHub, serving  # noqa: E402

READER = "reader"
HOME = Path("/home") / READER
NAME, REPOSITORY = "qwen3-tts-1.7b-customvoice", "Qwen/Qwen3-TTS-12Hz-1.7B-CustomVoice"
PYTORCH = "https://download.pytorch.org/whl/cpu"
README, AUDIOBOOK, GPU_BOX = "README.md", "docs/tutorials/first-audiobook.md", "docs/tutorials/one-gpu-box.md"
START = re.compile(r"^(\w+=\S+ )*rhapsode up\b")
INLINE = re.compile(r"`(apt-get [^`]+|rhapsode (?:up|doctor)|rhapsode (?!up|models pull)[^\s`]+ [^`]+)`")
SKIPPED = {
    "ffplay": "it plays sound",
    "rhapsode say": "it plays sound",
    "rhapsode jobs rm": "later steps need the job",
    "novel.": "the novel is yours",
    "--speaker": "the play is yours",
}
UNEVEN = ("rhapsode check", "rhapsode jobs watch", "rhapsode jobs set")
"""They may end with another status than 0: a short chapter misses the level, a job was cancelled, another has ended."""
WAIT_S = 900
LOUD = 1000
"""Of 32767: the loudest sample of speech is above it."""
LOUDEST = """\
import av, sys
with av.open(sys.argv[1]) as file:
    frames = [frame.to_ndarray() for frame in file.decode(audio=0)]
top = max(abs(frame).max() for frame in frames)
print(int(top * 32767 if frames[0].dtype.kind == "f" else top))
"""


class Reader:
    """Types what pages say, in one folder of a clean root, and remembers the ids that were printed.

    wrong: each command that failed, or printed something else than its page shows.
    """

    def __init__(self, root: Path, replaced: dict[str, str]) -> None:
        self.root = root
        self.folder = HOME
        self.replaced = replaced
        self.exported: dict[str, str] = {}
        self.wrong: list[str] = []
        self.server: subprocess.Popen[str] | None = None

    def follow(self, page: str, *, typed: Iterator[Example]) -> None:
        say(f"\n== {page}")
        for example in typed:
            self.type(f"{page}:{example.line}", example)

    def type(self, place: str, example: Example) -> None:
        command = example.command.partition("  #")[0].strip()
        if why := next((why for part, why in SKIPPED.items() if part in command), None):
            say(f"$ {command}\n  SKIPPED: {why}")
            return
        for told, ours in self.replaced.items():
            command = command.replace(told, ours)
        if command.startswith("export "):
            self.exported |= dict(word.split("=", 1) for word in shlex.split(command)[1:])
        elif START.match(command):
            if self.server is None or command != "rhapsode up":
                self.start(command)
        else:
            status, printed = self.run(command, user="root" if command.startswith("apt-get") else READER)
            self.replaced |= ids_of(example.printed, printed)
            if found := ID.findall(printed):
                named = next((each for each in found if each.startswith("job_")), None)
                self.replaced |= {"JOB": named} if named else {}
            if found := re.search(r"\bpd_\w+@1\b", printed):
                self.replaced |= {"pd_01k...@1": found[0], "dictionary ID": f"dictionary {found[0]}"}
                self.replaced["--to ID"] = f"--to {found[0].partition('@')[0]}"
            if status and not command.startswith(UNEVEN):
                self.wrong.append(f"{place}: `{command}` ended with {status}: {printed[-2000:]}")
            elif example.printed and not is_as_told(example.printed, printed):
                self.wrong.append(f"{place}: `{command}` printed\n{printed}\nand the page says\n{example.printed}")

    def run(self, command: str, *, user: str = READER, interrupt_after: str = "") -> tuple[int, str]:
        """Its status and what it printed. interrupt_after: Ctrl-C once a line holds this."""
        say(f"$ {command}")
        begun = time.monotonic()
        process = self.begin(f"{command}\npwd > /tmp/folder-{user}", user)
        printed: list[str] = []
        assert process.stdout is not None
        for line in process.stdout:
            say(f"  {line.rstrip()}")
            printed.append(line)
            if interrupt_after and interrupt_after in line:
                os.killpg(process.pid, signal.SIGINT)
        status = process.wait()
        if (at := self.root / f"tmp/folder-{READER}").exists() and user == READER:
            self.folder = Path(at.read_text().strip())
        say(f"  -> {status} after {time.monotonic() - begun:.1f} s")
        return status, "".join(printed)

    def begin(self, command: str, user: str) -> subprocess.Popen[str]:
        home = HOME if user == READER else Path("/root")
        bin_folder = self.folder / ".venv/bin"
        environment = {
            "HOME": str(home), "USER": user, "LANG": "C.UTF-8", "COLUMNS": "100", "DEBIAN_FRONTEND": "noninteractive",
            "PATH": f"{bin_folder}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        } | self.exported  # fmt: skip
        inside = f"set -e; cd {self.folder if user == READER else home}\n{command}"
        return subprocess.Popen(
            ["chroot", f"--userspec={user}", str(self.root), "bash", "-c", inside],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def start(self, command: str) -> None:
        """A server, in the place of the one before it."""
        self.stop()
        say(f"$ {command}")
        self.server = self.begin(f"exec env {command} > ~/server.log 2>&1", READER)
        log = self.root / str(HOME)[1:] / "server.log"
        until = time.monotonic() + WAIT_S
        while "Rhapsode is ready" not in (said := log.read_text() if log.exists() else ""):
            if self.server.poll() is not None or time.monotonic() > until:
                sys.exit("\n".join([*self.wrong, f"`{command}` did not get ready:", said]))
            time.sleep(0.5)
        say("".join(f"  {line}\n" for line in said.splitlines()))

    def stop(self) -> None:
        if self.server is not None:
            os.killpg(self.server.pid, signal.SIGINT)
            self.server.wait(WAIT_S)
            (self.root / str(HOME)[1:] / "server.log").unlink()
            self.server = None

    def loudest(self, file: str) -> int:
        status, printed = self.run(f"python - {file} <<'END'\n{LOUDEST}\nEND")
        return 0 if status else int(printed)


def typed_in(page: str, *, first: str = "", until: str = "") -> Iterator[Example]:
    """What a page lets its reader type between two headings, in its order: blocks, and commands in sentences."""
    text = (ROOT / page).read_text(encoding="utf-8")
    lines = text.splitlines()
    start = lines.index(first) if first else 0
    end = lines.index(until) if until else len(lines)
    found: list[Example] = []
    inside = set[int]()
    for block in command_blocks(text):
        inside |= set(range(block.line, block.line + len(block.text.splitlines()) + 2))
        if block.language == "console":
            found += block.examples
        else:
            found += [Example(block.line + n, line, "") for n, line in enumerate(block.text.splitlines(), 1)]
    for number, line in enumerate(lines, 1):
        if number not in inside:
            found += [Example(number, command, "") for command in INLINE.findall(line)]
    typed = (each for each in found if start < each.line <= end and each.command[:1] not in ("", "#"))
    yield from sorted(typed, key=lambda each: each.line)


def walk(root: Path, pytorch: str) -> list[str]:
    """What was wrong."""
    replaced = {"ADDRESS": "file:///srv/rhapsode.git", PYTORCH: pytorch, "FOLDER": "~/backup", "NEW": "~/new"}
    reader = Reader(root, replaced)
    subprocess.run(["git", "clone", "--quiet", "--bare", ROOT, root / "srv/rhapsode.git"], check=True)
    (root / "etc/apt/apt.conf.d/yes").write_text('APT::Get::Assume-Yes "true";\n')
    own = f"useradd --create-home --shell /bin/bash {READER} && chown -R {READER} /srv/rhapsode.git"
    reader.run(f"apt-get update -qq && {own}", user="root")
    # All pages are read first: an edit during the walk changes nothing.
    install = [each for each in typed_in(README, first="## Ways to start", until="## Use it") if is_of_checkout(each)]
    audiobook = list(typed_in(AUDIOBOOK))
    gpu_box, backup = list(typed_in(GPU_BOX, until="## Back up")), list(typed_in(GPU_BOX, first="## Back up"))
    reader.follow(README, typed=iter(install))
    if not (root / str(reader.folder)[1:] / "demo.wav").exists():
        sys.exit("the README's own commands made no demo.wav: " + "\n".join(reader.wrong))
    write_book(root / str(reader.folder)[1:] / "book.epub")
    reader.replaced["3-40,42"] = "2"
    for example in audiobook:
        if "jobs watch JOB" in example.command and "#" in example.command:
            reader.run("rhapsode narrate book.epub -o later.m4b --seed 99", interrupt_after="speaking")
            newest = reader.run("rhapsode jobs list")[1]
            reader.replaced["JOB"] = ID.findall(newest)[0]
        reader.type(f"{AUDIOBOOK}:{example.line}", example)
    heard = {file: reader.loudest(file) for file in ("demo.wav", "aesop.m4b", "aesop-2.m4b", "book.m4b")}
    files = {
        str(file.relative_to(ROOT / "worker/small_voice")): file.read_bytes()
        for file in (ROOT / "worker/small_voice").rglob("*")
        # Published checkpoints have no measurements: `rhapsode calibrate` makes them.
        if file.is_file()
        and file.suffix != ".md"
        and file.parent.name != "samples"
        and file.stem != "speech_calibration"
    }
    with serving(LocalHub({REPOSITORY: files})) as hub:
        reader.exported["HF_ENDPOINT"] = hub.url
        # The README's server goes on meanwhile; the page starts another with the model.
        for example in gpu_box:
            reader.type(f"{GPU_BOX}:{example.line}", example)
        reader.run("echo 'The ferry left at noon.' | rhapsode narrate - -o ferry.wav")
        for example in backup:
            reader.type(f"{GPU_BOX}:{example.line}", example)
        reader.run(
            "echo 'The ferry came back at night.' | rhapsode narrate - -o restored.wav --server http://127.0.0.1:8765"
        )
    heard |= {file: reader.loudest(file) for file in ("ferry.wav", "restored.wav")}
    reader.stop()
    for file, top in heard.items():
        say(f"{file}: its loudest sample is {top} of 32767")
    return reader.wrong + [f"{file} has no sound" for file, top in heard.items() if top < LOUD]


def is_of_checkout(example: Example) -> bool:
    return example.command.startswith(("apt-get", "git clone", "cd ", "make demo"))


def write_book(file: Path) -> None:
    """Two chapters, of few sentences: on two cores each narration takes its time."""
    chapters = {
        "one": ["A crow sat in a tall oak, with a piece of cheese.", "A fox came by, and it looked up at her."],
        "two": ["The fox said that she sang well.", "The crow opened her beak, and the cheese was gone."],
    }
    items = "".join(f'<item id="{n}" href="{n}.xhtml" media-type="application/xhtml+xml"/>' for n in chapters)
    spine = "".join(f'<itemref idref="{n}"/>' for n in chapters)
    with zipfile.ZipFile(file, "w") as book:
        book.writestr("mimetype", "application/epub+zip")
        book.writestr(
            "META-INF/container.xml",
            '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="b.opf" media-type="application/oebps-package+xml"/></rootfiles></container>',
        )
        book.writestr(
            "b.opf",
            '<package version="3.0" xmlns="http://www.idpf.org/2007/opf"><metadata '
            'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Fables</dc:title><dc:language>en</dc:language>'
            f"</metadata><manifest>{items}</manifest><spine>{spine}</spine></package>",
        )
        for name, paragraphs in chapters.items():
            text = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
            page = f"<head><title>{name}</title></head><body><h1>Chapter {name}</h1>{text}</body>"
            book.writestr(f"{name}.xhtml", f'<html xmlns="http://www.w3.org/1999/xhtml">{page}</html>')


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def mount(root: Path, shared: list[str]) -> None:
    """In this process's own namespace: they go with it."""
    subprocess.run(["mount", "-t", "proc", "proc", root / "proc"], check=True)
    subprocess.run(["mount", "--rbind", "/dev", root / "dev"], check=True)
    shutil.copyfile("/etc/resolv.conf", root / "etc/resolv.conf")
    for each in shared:
        place, _, inside = each.partition(":")
        target = root / (inside or place)[1:]
        if Path(place).is_dir():
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.touch()
        subprocess.run(["mount", "--bind", place, target], check=True)
        subprocess.run(["mount", "-o", "remount,bind,ro", target], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="bookworm", help="of Debian")
    parser.add_argument("--mirror", default="http://deb.debian.org/debian")
    parser.add_argument("--pytorch", default=PYTORCH)
    parser.add_argument("--share", action="append", default=[])
    parser.add_argument("--root", type=Path, help="a root that debootstrap has made; it is copied")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        mount(given.inside, given.share)
        wrong = walk(given.inside, given.pytorch)
        say("\n".join(["", f"{len(wrong)} steps went wrong", *wrong]))
        sys.exit(1 if wrong else 0)
    folder = Path(tempfile.mkdtemp(prefix="clean-root-"))
    root = folder / "root"
    try:
        if given.root:
            subprocess.run(["cp", "-a", given.root, root], check=True)
        else:
            subprocess.run(["debootstrap", "--variant=minbase", given.suite, root, given.mirror], check=True)
        # One namespace for all: its end ends every process and every mount of the walk.
        alone = ["unshare", "--mount", "--pid", "--fork", "--kill-child", sys.executable, __file__, *sys.argv[1:]]
        sys.exit(subprocess.run([*alone, "--inside", root], check=False).returncode)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
