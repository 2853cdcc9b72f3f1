"""Who may join the batch while live speech is heard."""

from __future__ import annotations

from worker.engine.cpu.live_room import MOST_STEP_S, LiveRoom


def test_others_join_while_frames_are_made_in_time() -> None:
    room = LiveRoom()
    room.measured(MOST_STEP_S / 2, num_rows=4)

    assert room.admits(num_others=6, num_live=1)
    assert not room.admits(num_others=7, num_live=1)


def test_one_other_goes_on_however_slow_the_machine_is() -> None:
    room = LiveRoom()
    room.measured(10.0, num_rows=2)

    assert room.admits(num_others=0, num_live=3)
    assert not room.admits(num_others=1, num_live=3)


def test_nothing_is_held_back_where_nobody_listens() -> None:
    room = LiveRoom()
    room.measured(10.0, num_rows=2)

    assert room.admits(num_others=15, num_live=0)
