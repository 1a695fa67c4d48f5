"""A night in words."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.nightly import nightly_text


def verdict(system: str, track: str, word: str, metric: str = "rougeL", reason: str = "") -> dict[str, Any]:
    ends = {"value": -3.0, "low": -5.0, "high": -1.0} if word in ("worse", "better") else {"value": None}
    return {"benchmark": "b", "system": system, "track": track, "metric": metric, "verdict": word, **ends} | {
        "reason": reason,
        "n": 50,
    }


FEW = "n<20: 8 instances"
SAME = [verdict(system, "default", "unchanged") for system in "st"]
OTHERS = [verdict(system, "xlingual", "not comparable", reason=FEW) for system in "st"]
ONE_A_TRACK = [
    verdict("s", "default", "worse"),
    verdict("s", "default", "not comparable", "exact_match", "other instances: 1 new, 0 gone"),
    verdict("t", "default", "better"),
    verdict("u", "default", "not comparable", reason="missing now"),
]


def test_a_page_without_comparisons_says_nothing_of_their_correction() -> None:
    facts = {
        **dict.fromkeys(("run", "state", "message", "commit", "lock_sha256"), "x"),
        "changed": [],
        "hardware": {"cpu": "x", "cores": 2, "gpus": []},
        "against": None,
    }
    row = OTHERS[0] | dict.fromkeys(("before", "now", "better", "p_corrected"))
    assert "Holm" not in nightly_text.markdown(facts, [])
    assert "Holm" not in nightly_text.markdown(facts, [row])
    assert "Holm" in nightly_text.markdown(facts, [row, row | {"verdict": "unchanged", "p_corrected": 0.5}])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([*SAME, *OTHERS], f"b: unchanged (not comparable: s xlingual; t xlingual ({FEW})); against night"),
        (
            [*SAME, OTHERS[0], verdict("t", "xlingual", "unchanged")],
            f"b: unchanged (not comparable: s xlingual ({FEW})); against night",
        ),
        (
            ONE_A_TRACK,
            "b: worse (s default rougeL -3.00 [-5.00, -1.00]; better: t default rougeL -3.00 [-5.00, -1.00]; "
            "not comparable: u default (missing now)); against night",
        ),
        (OTHERS, f"b: not comparable ({FEW}); against night"),
        (
            [verdict(system, "default", "worse", metric) for system in "stuv" for metric in ("f1", "rougeL")],
            "b: worse ("
            + "; ".join(f"{it} default f1 -3.00 [-5.00, -1.00] and 1 more" for it in "stuv")
            + "); against night",
        ),
    ],
    ids=[
        "tracks that are not comparable",
        "one of them",
        "one verdict a system and track",
        "the benchmark",
        "one entry a system",
    ],
)
def test_the_message_of_a_night(rows: list[dict[str, Any]], message: str) -> None:
    assert nightly_text.message(rows, {"run": "night"}) == message


def test_the_first_night_has_nothing_to_compare_with() -> None:
    message = "first run: 2 scores recorded, nothing to compare with yet"
    assert nightly_text.message(OTHERS, None) == nightly_text.counts(OTHERS, compared=False) == message
    assert nightly_text.counts([], compared=False) == "no scores"


def test_a_track_has_the_title_that_its_card_gives_it() -> None:
    row = verdict("s", "default", "worse") | {"benchmark": "supernatinst"}
    assert (
        nightly_text.message([row], {"run": "night"})
        == "supernatinst: worse (s English track rougeL -3.00 [-5.00, -1.00]); against night"
    )
    told = row | dict.fromkeys(("before", "now", "p_corrected")) | {"n": 20}
    for track, title in (("default", "English track"), ("other", "other")):
        ((cells,),) = nightly_text.groups([told | {"track": track}]).values()
        assert cells["track and metric"] == f"{title}, rougeL"
    ((cells,),) = nightly_text.groups([told | {"benchmark": "of no package"}]).values()
    assert cells["track and metric"] == "default, rougeL"


def test_an_unchanged_night_shows_what_changed_and_its_contents() -> None:
    numbers = {"before": 40.0, "now": 37.0, "p_corrected": 0.01, "n": 50}
    rows = [row | numbers for row in (*SAME, OTHERS[0], verdict("z", "default", "better"), ONE_A_TRACK[0])]
    found = nightly_text.groups(rows)
    assert {title: [it["system"] for it in own] for title, own in found.items()} == {
        "b: worse": ["s"],
        "b: better": ["z"],
    }
    assert found["b: worse"][0]["before → now"] == "40.00 → 37.00"
    assert nightly_text.counts(rows) == "1 worse, 1 better, 2 unchanged, 1 not comparable"
    assert nightly_text.contents(rows) == [
        {"benchmark": "b", "worse": 1, "better": 1, "unchanged": 2, "not comparable": 1}
    ]
    assert sum(map(len, nightly_text.groups(rows, "b").values())) == len(rows)
