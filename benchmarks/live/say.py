"""From the start of `rhapsode say` to the first samples at the player: interpreter, imports, server, model.

    python -m benchmarks.live.say --server http://127.0.0.1:8765 [--times 20]

A stack has to run there (`rhapsode up`). The player is a script that notes when something was written to it, found in
ffplay's place, and is part of what is measured; `sounddevice` would be used where it finds a device, so that this is
for a machine without one. The time that the client itself tells, from its request on, is printed beside it.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

TEXT = "Hello there, how are you today?"
HEADER_BYTES = 44
PLAYER = f"""#!/bin/sh
head -c {HEADER_BYTES + 2} > /dev/null
date +%s%N > "$FIRST_SOUND"
cat > /dev/null
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True)
    parser.add_argument("--times", type=int, default=20)
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        player = Path(folder) / "ffplay"
        player.write_text(PLAYER)
        player.chmod(0o755)
        said = [_say(given.server, Path(folder)) for _ in range(given.times)]
    for name, times in (("whole", [whole for whole, _ in said]), ("from the request on", [asked for _, asked in said])):
        row = f"least {min(times):.3f}, median {statistics.median(times):.3f}, most {max(times):.3f} s"
        print(f"{name:<20} {row}")


def _say(server: str, folder: Path) -> tuple[float, float]:
    """Seconds to the player's first samples, and those that the client tells."""
    note = folder / "first_sound"
    path = os.pathsep.join((str(folder), os.environ["PATH"]))
    command = (sys.executable, "-m", "rhapsode", "say", TEXT, "--server", server)
    began_ns = time.time_ns()
    told = subprocess.run(
        command, env=os.environ | {"PATH": path, "FIRST_SOUND": str(note)}, capture_output=True, text=True, check=True
    )
    asked = re.search(r"first audio after ([0-9.]+) s", told.stdout)
    if asked is None:
        sys.exit(f"nothing was said: {told.stdout}")
    return (int(note.read_text()) - began_ns) / 1e9, float(asked[1])


if __name__ == "__main__":
    main()
