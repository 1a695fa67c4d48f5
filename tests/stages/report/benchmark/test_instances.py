"""The data of the explorer: which instances, what is cut, and the passages of a system with evidence or rankings."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from nightjar.benchmarks import registry
from nightjar.benchmarks.scores import from_rows
from nightjar.benchmarks.sections import Evaluated
from nightjar.core import contracts, tables
from nightjar.core.paths import INDEX
from nightjar.params import load
from stages.report.benchmark import instances
from tests.stages.report.building import EVIDENCE, NAME, SCORED, asked

BENCHMARK = registry.load_benchmark(NAME)


def found(evidence: str = "data/none") -> Evaluated:
    params = load(Path("params.yaml"))
    systems = params.predict.systems
    one = systems[f"{NAME}-combined"].model_copy(update={"evidence": Path(evidence)})
    predict = params.predict.model_copy(update={"systems": {**systems, f"{NAME}-combined": one}})
    scores = from_rows(tables.read_rows(SCORED, contracts.INSTANCE_SCORES))
    return Evaluated(BENCHMARK, params.model_copy(update={"predict": predict}), ["combined"], asked(), scores, [], {},
                     Path(), lambda path: None)  # fmt: skip


def shown(of: Evaluated, **limit: int) -> dict[str, dict[str, Any]]:
    """What is shown of every instance, by its id."""
    roles = dict.fromkeys(of.systems, "control") | {"combined": "treatment"}
    made = instances.files(
        of, {name: {"role": role, "text": f"{name}!"} for name, role in roles.items()}, **limit
    )
    values = {name: json.loads(text.partition(" = ")[2].rstrip(";\n")) for name, text in made.items()}
    listed = values.pop(f"instances/{NAME}/list.js")
    assert listed["named"][-1] == ["treatment", "◆", "combined!"]
    texts = [one for name in values for one in values[name]]
    return {row[1]: one | {"row": row} for row, one in zip(listed["rows"], texts, strict=True)}


def test_of_more_the_seed_draws(reported: Path) -> None:
    every = shown(found())
    assert list(every) == [one.id for one in asked()]
    few = shown(found(), limit=9)
    assert len(few) == 9 and all(few[id]["systems"] == every[id]["systems"] for id in few)
    told = instances.context(found(), limit=9)
    assert (told["shown"], told["total"]) == (9, len(asked()))


def test_scores_are_those_of_the_table(reported: Path) -> None:
    scores = {
        (row["id"], row["part"]): row["unscaled"]
        for row in tables.read_rows(SCORED, contracts.INSTANCE_SCORES)
        if row["system"] == "combined"
    }
    for id, it in shown(found()).items():
        assert it["systems"][0]["scores"] == [
            ["ROUGE-L (%)", f"{100 * scores[id, 'rougeL']:.1f}"],
            ["exact match (%)", f"{100 * scores[id, 'exact_match']:.1f}"],
        ]
        assert it["row"][4] == ("1" if scores[id, "exact_match"] == 1 else "0")


def test_evidence_in_the_order_of_its_ranks(project: Path) -> None:
    first = asked()[0]
    names = {"split": "test", "task_id": first.task_id, "id": first.id, "document_id": "d", "score": 1.0}
    titles = {2: "", 1: "<i>", 3: "", 4: ""}
    rows = [
        {**names, "rank": rank, "passage": rank, "title": title, "text": f"passage {rank}"}
        for rank, title in titles.items()
    ]
    with tables.ArtifactWriter(Path(EVIDENCE)) as writer:
        writer.write(contracts.EVIDENCE, [*rows, rows[0] | {"split": "train", "id": "other"}])
    every = shown(found(EVIDENCE))
    assert every.pop(first.id)["passages"] == [[["<i>: passage 1", "passage 2", "passage 3"], [0]]]
    assert not any(it["passages"] for it in every.values())


def test_passages_of_a_ranking(project: Path) -> None:
    first = asked()[0]
    row = {"split": "test", "task_id": first.task_id, "id": first.id}
    with tables.ArtifactWriter(Path("data/rerank", NAME)) as writer:
        writer.write(contracts.RANKINGS, [row | {"passages": [7, 2, 5, 9], "scores": [4.0, 3.0, 2.0, 1.0]}])
    passage = {"document_id": "d", "title": "", "start": 0}
    with tables.ArtifactWriter(INDEX) as writer:
        rows = [{"passage": number, "text": f"text {number}", **passage} for number in range(10)]
        writer.write(contracts.PASSAGES, rows)
    every = shown(found(f"data/rerank/{NAME}"))
    assert every.pop(first.id)["passages"] == [[["text 7", "text 2", "text 5"], [0]]]
    assert not any(it["passages"] for it in every.values())


def test_equal_prompts_are_written_once(reported: Path) -> None:
    of = replace(found(), systems=["untuned", "tk_instruct", "combined"])
    every = shown(of)
    for it in every.values():
        assert sorted(place for _, places in it["prompts"] for place in places) in ([0, 1, 2], [1, 2])
        assert len({text for text, _ in it["prompts"]}) == len(it["prompts"])


def test_long_prompts_keep_their_ends() -> None:
    assert instances.without_middle("a\nb", 3) == "a\nb"
    assert instances.without_middle("abcdefghij" * 200, 6) == "abc\n[… 1,994 characters are left out …]\nhij"
