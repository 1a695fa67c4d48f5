"""Steps of calls of QA on questions and passages whose answers are known."""

from __future__ import annotations

import pyarrow as pa

from bench.call_steps import has_any, lines, steps
from nightjar.benchmarks.question import Question
from nightjar.core import contracts
from nightjar.search.lexical import LexicalIndex
from nightjar.tools.passage_store import PassageSearch
from tests.questions import row_of


def prediction(id: str, answer: str, *calls: tuple[str, str, str | None]) -> dict[str, object]:
    named = [dict(zip(("tool", "input", "result"), call, strict=True)) for call in calls]
    values = {
        "task_id": "lama_trex",
        "id": id,
        "answers": [answer],
        "text": answer,
        "prompt": "Ann was born in",
    }
    return row_of(contracts.PREDICTIONS, **values, calls=named)


def test_a_row_for_each_task_and_for_all() -> None:
    texts = ["Ann was born in New Town.", "A zebra is black and white."]
    table = pa.table({"document_id": ["1", "2"], "title": ["Ann", "Zebra"], "text": texts})
    search = PassageSearch(table, LexicalIndex.build(texts), "1")
    questions = [
        Question("tool_use", "lama_trex", id, {}, ("New Town", "Newtown")) for id in ("a", "b", "c", "d")
    ]
    predictions = [
        prediction("a", " New Town.", ("QA", "Where was Ann born?", "in new town")),
        # The first call of QA counts; a result of None has nothing.
        prediction(
            "b", " Rome.", ("Calendar", "", "today"), ("QA", "Where?", None), ("QA", "Who?", "Newtown")
        ),
        prediction("c", " Newtown."),
        prediction("d", " Old.", ("QA", "zebra", "Renewtown")),
    ]
    rows_of_steps = steps(questions, predictions, search, 1)
    assert (
        rows_of_steps["question"].tolist()[:2] == ["Where was Ann born?", "Where?"]
        and rows_of_steps["question"].isna()[2]
    )
    assert rows_of_steps["in_result"].dropna().tolist() == [True, False, False]
    assert rows_of_steps["right"].dropna().tolist() == [True, False, False]
    task, everything = [*lines(rows_of_steps)][2:]
    assert task == "| lama_trex | 4 | 3 | 33.3 | 33.3 | 33.3 |"
    assert everything == task.replace("lama_trex", "all")


def test_a_reference_is_a_run_of_whole_words() -> None:
    assert has_any("He lives in NEW-town, USA", ["Rome", "new town"])
    assert not has_any("Russia", ["us"]) and not has_any("anything", ["", "?"])
