"""For how many steps of the model a live stream stands still between two of its segments.

    python -m benchmarks.live.segment_joins [--checkpoint worker/small_voice] [--texts 4]

The engine runs on this CPU behind a worker's live server, and speaks bulk beside the stream, so that its steps go on
whatever the stream does. With one live slot the stream has none to borrow, and each segment is asked for when the one
before has ended; with two the next one is begun ahead. Counted are the steps behind the one in which a segment ended,
up to the one in which the next one's prompt is read, which makes its first frame as well: at 0 none is missed, and less
than 0 is how many steps it was begun before that.
"""

from __future__ import annotations

import argparse
import json
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import cast

from storage.objects.store import ArtifactStore
from tests.worker.live.caller import an_order, calling
from worker.engine.interface import BuiltInSpeaker, Speech, SpeechRequest
from worker.engine.native import NativeEngine
from worker.engine.serving.talker_lane import LaneStep
from worker.engine.settings import NativeEngineSettings
from worker.live.parts import LiveParts
from worker.live.server import LiveBinding, LiveServer
from worker.speech.quality.calibration.calibration_file import FILE_NAME, Calibration, read_calibration
from worker.voices.resolving import VoiceResolver

TEXT = (
    "The birch canoe slid on the smooth planks and came to rest beside the landing. "
    "It is easy to tell the depth of a well if there is a rope long enough to reach the water. "
    "The juice of lemons makes fine punch, and the box was thrown beside the parked truck. "
    "Four hours of steady work faced us before the large size in stockings could be sold. "
    "The boy was there when the sun rose, and a rod is used to catch pink salmon in the river."
)
BULK = "The source of the huge river is the clear spring, and the ball was kicked straight over the wall. " * 2


class CountingEngine(NativeEngine):
    """admitted, ended: the step of each live request, by its id."""

    admitted: dict[str, int]
    ended: dict[str, int]
    num_steps = 0

    def __init__(self, settings: NativeEngineSettings) -> None:
        self.admitted, self.ended = {}, {}
        super().__init__(settings)

    def _commit(self, step: LaneStep, began_s: float) -> None:
        self.num_steps += 1
        self.admitted.update({each.request_id: self.num_steps for each in step.admitted})
        self.ended.update({each.request.request_id: self.num_steps for each in step.ended})
        super()._commit(step, began_s)


class EndlessBulk:
    """One request after the other, until it is told to stop."""

    def __init__(self, engine: NativeEngine) -> None:
        self._engine = engine
        self._is_over = threading.Event()
        self._number = 0
        self._next()

    def _next(self, _: Future[Speech] | None = None) -> None:
        if not self._is_over.is_set():
            self._number += 1
            speaker = BuiltInSpeaker(self._engine.info.speakers[0])
            request = SpeechRequest(f"bulk/{self._number}", BULK, speaker, seed=self._number)
            self._engine.submit(request).add_done_callback(self._next)

    def stop(self) -> None:
        self._is_over.set()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, default=Path(__file__).resolve().parents[2] / "worker/small_voice")
    parser.add_argument("--texts", type=int, default=4)
    arguments = parser.parse_args()
    for live_slots in (1, 2):
        steps = joins(arguments.checkpoint, live_slots, arguments.texts)
        said = {"live_slots": live_slots, "joins": len(steps), "steps_missed": [max(0, each) for each in steps]}
        print(json.dumps(said | {"steps": steps}))


def joins(checkpoint: Path, live_slots: int, num_texts: int) -> list[int]:
    """Of streams one after the other, at each of their joins."""
    engine = CountingEngine(NativeEngineSettings(checkpoint, slots=2, live_slots=live_slots))
    calibration = read_calibration(checkpoint / FILE_NAME)
    server = LiveServer(_parts(engine, calibration), LiveBinding(), lambda: None)
    server.start()
    bulk = EndlessBulk(engine)
    found: list[int] = []
    try:
        with calling(server.address()) as caller:
            for number in range(num_texts):
                voice, language = engine.info.speakers[0], engine.info.languages[0]
                order = an_order(TEXT, model="small", voice=voice, language=language, seed=number, text_mode="whole")
                caller.open(f"s{number}", order)
                found += _steps(engine, len(caller.hear(f"s{number}").texts))
                engine.admitted.clear()
                engine.ended.clear()
    finally:
        bulk.stop()
        server.close()
        engine.close()
    return found


def _steps(engine: CountingEngine, num_segments: int) -> list[int]:
    live = {name.rsplit("/", 1)[1]: name for name in engine.admitted if name.startswith("live/")}
    return [
        engine.admitted[live[str(index)]] - engine.ended[live[str(index - 1)]] - 1 for index in range(1, num_segments)
    ]


def _parts(engine: NativeEngine, calibration: Calibration) -> LiveParts:
    """Of streams that speak with a voice of the model's, and look into no store."""
    nothing = cast(VoiceResolver, None), cast(ArtifactStore, None)
    return LiveParts(
        "benchmark",
        "small",
        engine,
        *nothing,
        lambda voice, language: calibration.bounds(language, voice),
    )


if __name__ == "__main__":
    main()
