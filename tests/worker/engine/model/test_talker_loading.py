"""An engine starts without what only torch's compiler needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.tiny_checkpoint import make_checkpoint

START = """
import sys
from pathlib import Path
from worker.engine.native import NativeEngine
from worker.engine.settings import NativeEngineSettings

NativeEngine(NativeEngineSettings(Path(sys.argv[1]), slots=1)).close()
print("torch._dynamo" in sys.modules)
"""


def test_a_start_imports_no_compiler(tmp_path: Path) -> None:
    make_checkpoint(tmp_path / "tiny", "tiny", "custom_voice")

    started = subprocess.run(
        [sys.executable, "-c", START, str(tmp_path / "tiny")], capture_output=True, text=True, check=False
    )

    assert (started.returncode, started.stdout) == (0, "False\n"), started.stderr
