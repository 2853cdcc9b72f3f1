"""Numbers that stop being finite cost the request that made them, no other, and not the next one in its row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.worker.engine.serving.sick_tokens import make_token_sick
from worker.engine.interface import BuiltInSpeaker, SpeechRequest
from worker.engine.requests.request_state import RowEnd

HEALTHY, SICK = "the rain in the north", "the ~ in the north"


def test_a_sick_row_fails_alone(open_rig: Any, make_checkpoint: Any, arrive: Any, tmp_path: Path) -> None:
    make_checkpoint(tmp_path, "tiny", "custom_voice", 3, 1.0)
    rig = open_rig(tmp_path)
    healthy = [SpeechRequest(str(n), HEALTHY, BuiltInSpeaker("ryan"), seed=n, max_frames=12) for n in range(4)]
    expected = rig.run_alone(healthy)
    make_token_sick(tmp_path, rig.prompts._tokenizer.encode("~")[0])
    sick_rig = open_rig(tmp_path)
    sick = SpeechRequest("sick", SICK, BuiltInSpeaker("ryan"), max_frames=12)

    outcomes = sick_rig.run([arrive(sick), *[arrive(request, step=n) for n, request in enumerate(healthy)]])

    assert outcomes["sick"].end is RowEnd.NON_FINITE
    for request in healthy:
        np.testing.assert_array_equal(outcomes[request.request_id].frames, expected[request.request_id].frames)
