"""A page's commands, run in a folder of the page's own beside one system that all pages share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rhapsode.stack.options import StackOptions
from rhapsode.stack.state_file import Lifetime
from tests.command_line import CLI, CommandLine
from tests.readmes.console_blocks import Example
from tests.readmes.masked_output import ids_of
from tests.readmes.shown_machine import as_on_shown_machine

START = "rhapsode up"
"""Starts what goes on running: the system that is there already was started by it."""

PAGE_ADDRESSES = ("localhost:8765", "127.0.0.1:8765")
PATIENCE_S = 240
ASKS = """\
#!{python} -IS
import json, os, socket, sys
line, far_end = socket.socketpair()
socket.send_fds(socket.socket(fileno={control}), [b"r"], [far_end.fileno(), 0, 1, 2])
far_end.close()
words = line.makefile("rw")
order = {{"command": ["{cli}", *sys.argv[1:]], "folder": os.getcwd(), "environment": dict(os.environ)}}
print(json.dumps(order), file=words, flush=True)
words.readline()
sys.exit(int(words.readline()))
"""
"""As `CommandLine.run`, for a shell. Its number of the socket is ours."""


@dataclass(frozen=True, slots=True)
class RunningSystem:
    """said: what `rhapsode up` prints until it is ready, on the machine that the pages show.

    environment: in which commands find it.
    """

    port: int
    said: str
    environment: dict[str, str]


@dataclass(slots=True)
class Console:
    """loaded: makes the runs of `rhapsode`; none: each starts from nothing. known_ids: of this run, by what the page
    calls them."""

    system: RunningSystem
    folder: Path
    loaded: CommandLine | None = None
    known_ids: dict[str, str] = field(default_factory=dict[str, str])

    def run(self, example: Example) -> str:
        """What the command prints, its errors among the rest."""
        if example.command == START:
            return self.system.said
        outcome = subprocess.run(
            ["bash", "-c", self._here(example.command)],
            cwd=self.folder,
            env=self.system.environment if self.loaded is None else self._with_loaded(self.loaded),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE_S,
            pass_fds=() if self.loaded is None else [self.loaded.control.fileno()],
            check=False,
        )
        printed = outcome.stdout.decode()
        self.known_ids |= ids_of(example.printed, printed)
        return printed

    def _with_loaded(self, command_line: CommandLine) -> dict[str, str]:
        """In which `rhapsode` hands its streams to what has the command line loaded."""
        command = self.folder.with_name(f"{self.folder.name}-bin") / "rhapsode"
        if not command.exists():
            command.parent.mkdir()
            command.write_text(ASKS.format(python=sys.executable, cli=CLI, control=command_line.control.fileno()))
            command.chmod(0o755)
        environment = self.system.environment
        return environment | {"PATH": f"{command.parent}{os.pathsep}{environment['PATH']}"}

    def run_program(self, program: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-"],
            input=self._here(program),
            cwd=self.folder,
            env=self.system.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def _here(self, command: str) -> str:
        for told, own in self.known_ids.items():
            command = command.replace(told, own)
        for address in PAGE_ADDRESSES:
            command = command.replace(address, f"{address.partition(':')[0]}:{self.system.port}")
        return command


@contextmanager
def running_system(cli: str, data_dir: Path, environment: dict[str, str]) -> Generator[RunningSystem]:
    """The system as the page starts it, on a free port, with the checkpoint that comes with the code.

    It speaks on the CPU: on a GPU the same seed need not give the same bytes.
    """
    process = subprocess.Popen(
        [cli, *START.split()[1:], "--port", "0", "--device", "cpu"],
        env=environment | {"RHAPSODE_DATA_DIR": str(data_dir)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    try:
        said: list[str] = []
        for line in process.stderr:
            said.append(line)
            if line.startswith("Ctrl-C stops it"):
                break
        text = "".join(said)
        assert process.poll() is None, text
        port = int(text.partition("http://127.0.0.1:")[2].split()[0].rstrip("/"))
        options = StackOptions(data_dir, devices=("cpu",), lifetime=Lifetime.SERVER)
        text = as_on_shown_machine(text, options, environment)
        yield RunningSystem(port, text, environment | {"RHAPSODE_DATA_DIR": str(data_dir)})
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_S)
