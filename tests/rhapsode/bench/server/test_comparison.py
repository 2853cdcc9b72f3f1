"""What two reports say of each other."""

from __future__ import annotations

from rhapsode.bench.server.compare import AUDIO, compare, text_comparison
from rhapsode.bench.server.load import ClosedLoad
from rhapsode.bench.server.text_report import TOO_FEW, load_rows, text_report
from tests.rhapsode.bench.server.measured import LOADS, report, stage


def test_a_server_is_no_different_from_itself() -> None:
    found = compare(report([stage(load, 1) for load in LOADS]), report([stage(load, 1) for load in LOADS]))

    assert len(found.differences) == 15
    assert found.verdict == "No difference seen."
    assert (found.unlike, found.only_one) == ((), ())


def test_a_slower_server_is_worse_in_its_waits_and_in_its_speech() -> None:
    found = compare(report([stage(ClosedLoad(8), 1)]), report([stage(ClosedLoad(8), 2, slower=1.5)]))

    assert {each.figure: each.verdict for each in found.differences} == {
        "first sound, median": "worse",
        "first sound, p95": "worse",
        "whole, median": "worse",
        "RTF, median": "worse",
        AUDIO: "worse",
    }
    assert found.verdict == "Of 5 figures the second is worse in 5."
    back = compare(report([stage(ClosedLoad(8), 2, slower=1.5)]), report([stage(ClosedLoad(8), 1)]))
    assert back.verdict == "Of 5 figures the second is better in 5."


def test_loads_that_one_of_them_lacks_and_what_was_not_alike_are_said() -> None:
    first, second = (
        report([stage(load, 1) for load in LOADS[:2]]),
        report([stage(load, 1) for load in LOADS[1:]], seed=3),
    )
    second.environment.cpu = "another"

    found = compare(first, second)

    assert found.only_one == ("1 stream", "2 a second")
    assert found.unlike == ("the seed of the texts: 0 and 3", "the client's CPU: some CPU and another")
    said = text_comparison(found)
    assert "not the same: the seed of the texts: 0 and 3" in said
    assert "measured in one of them alone: 1 stream, 2 a second" in said


def test_of_a_few_requests_nothing_is_said() -> None:
    found = compare(report([stage(ClosedLoad(1), 1, requests=4)]), report([stage(ClosedLoad(1), 2, requests=4)]))

    assert {each.verdict for each in found.differences} == {"too few to tell"}
    assert found.verdict == "Too little was measured to tell which is better."
    assert compare(report([]), report([])).verdict == found.verdict


def test_a_p95_of_fewer_than_20_requests_is_too_few_to_tell() -> None:
    few, enough = report([stage(ClosedLoad(1), requests=19)]), report([stage(ClosedLoad(1), requests=20)])
    found = compare(few, few)

    assert {each.figure for each in found.differences if each.verdict == "too few to tell"} == {"first sound, p95"}
    said = "Fewer than 20 requests are too few to tell a p95."
    assert said in text_report(few)
    assert said not in text_report(enough)
    (row,) = load_rows(few)[1:]
    assert [head for head, text in zip(load_rows(few)[0], row, strict=True) if text == TOO_FEW] == [
        "p95",
        "p95",
        "p95",
        "buffer p95",
    ]
