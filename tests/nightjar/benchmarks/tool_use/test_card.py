"""The card as the registry gives it."""

from __future__ import annotations

import numpy as np

from nightjar.benchmarks import registry
from nightjar.benchmarks.card import Question
from nightjar.benchmarks.scores import score


def test_tasks_are_tracks() -> None:
    card = registry.card("tool_use")
    assert list(card.tasks) == list(card.tracks) == ["svamp", "asdiv", "web_questions", "dateset"]
    assert card.track_title("web_questions") == "WebQuestions"
    assert card.task("web_questions").forbidden_tools == {"QA"}
    assert not any(card.task(name).forbidden_tools for name in ("svamp", "asdiv", "dateset"))


def test_settings_come_from_the_parameters() -> None:
    card = registry.card("tool_use")
    values = {"prompts": "instructions", "questions_per_task": 5, "dateset_questions": 7}
    assert registry.settings(card, values).model_dump() == values
    assert registry.settings(card, {}).model_dump() == {
        "prompts": "published", "questions_per_task": None, "dateset_questions": 9400,
    }  # fmt: skip


def test_published_results() -> None:
    """Facts 3.11, copied here column by column; the sheet has them row by row."""
    rows = {row.system: row.values for row in registry.card("tool_use").published}
    assert list(rows) == [
        "GPT-J", "GPT-J + CC", "Toolformer (disabled)", "Toolformer", "OPT (66B)", "GPT-3 (175B)",
    ]  # fmt: skip
    columns = {
        "asdiv": [7.5, 9.6, 14.8, 40.4, 6.0, 14.0],
        "svamp": [5.2, 5.0, 6.3, 29.4, 4.9, 10.0],
        "web_questions": [18.5, 18.4, 18.9, 26.3, 18.6, 29.0],
        "dateset": [3.9, 2.9, 5.9, 27.3, 1.3, 0.8],
    }
    assert {task: [values[task] for values in rows.values()] for task in columns} == columns


def test_accuracy_is_reported_in_percent() -> None:
    card = registry.card("tool_use")
    asked = [Question("tool_use", "svamp", str(n), {}, (str(n),), track="svamp") for n in range(4)]
    scores = score(card, "untuned", asked, [["0"], ["1"], ["2"], ["7"]])
    (metric,) = card.metrics
    values = scores.of(metric)
    assert values.shape == (4, 1)
    assert metric.scale * float(np.squeeze(metric.statistic(values[None]))) == 75.0
