"""What a worker loads before it is known which lane it serves."""

from __future__ import annotations

import subprocess
import sys


def test_a_worker_that_speaks_loads_nothing_that_reads_documents_or_writes_files() -> None:
    heavy = "{'av', 'lxml', 'markdown_it', 'num2words', 'worker.assembly', 'worker.planning.item'}"
    question = f"import sys, worker.lifecycle.start; print(sorted({heavy} & set(sys.modules)))"

    answer = subprocess.run([sys.executable, "-c", question], capture_output=True, text=True, check=True)

    assert answer.stdout.strip() == "[]"


def test_settings_and_the_janitor_do_without_numpy() -> None:
    question = "import sys, worker.janitor.__main__; print('numpy' in sys.modules)"

    answer = subprocess.run([sys.executable, "-c", question], capture_output=True, text=True, check=True)

    assert answer.stdout.strip() == "False"
