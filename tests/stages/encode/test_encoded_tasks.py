"""Encoded instances against prompts and targets made one by one, and the artifact's promises."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from nightjar import params
from nightjar.core import contracts
from nightjar.core.contracts import TOKENS_FILE
from nightjar.core.errors import NightjarError
from nightjar.core.tables import ArtifactWriter
from nightjar.models.tokenizer import Tokenizer, load_tokenizer
from nightjar.params.inputs import Encoding
from nightjar.params.train import RecipeInputs
from nightjar.prompts.encodings import variants
from nightjar.prompts.model_text import model_input
from stages.encode import encoded_tasks as build_module
from stages.encode.encoded_tasks import Build, InputFolders
from tests.conftest import ROOT
from tests.stages.rows import instance as row
from tests.tiny_models import encoder_decoder

SETTINGS = params.load(ROOT / "params.yaml")
EXAMPLE = {"input": "a cow", "output": "moo", "explanation": "cows do"}
TASKS = {
    name: {
        **{field.name: [] for field in contracts.TASKS.schema},
        **{"dataset": "natural_instructions", "file": f"{name}.json", "task_id": name},
        "definition": [f"Say what it says ({name})"],
        "positive_examples": [EXAMPLE, EXAMPLE],
        "negative_examples": [EXAMPLE],
    }
    for name in ("a", "b", "c")
}


TRAIN = [
    *(row("a", f"a{n}", f"the {n} cats", "meow", "miaow") for n in range(5)),
    row("b", "b0", "a dog", "bow wow " * 90),
]
DEV = [row("c", "c0", "a duck", "quack")]
SUPERVISED = [row("c", "c9", "a goose", "honk")]


@pytest.fixture()
def sources(tmp_path: Path) -> InputFolders:
    with ArtifactWriter(tmp_path / "ingested") as writer:
        writer.write(contracts.TASKS, list(TASKS.values()))
    with ArtifactWriter(tmp_path / "split") as writer:
        for contract, rows in (
            (contracts.TRAIN, TRAIN),
            (contracts.DEV, DEV),
            (contracts.SUPERVISED, SUPERVISED),
        ):
            for task in {given["task_id"] for given in rows}:
                writer.write(contract, [given for given in rows if given["task_id"] == task], part=task)
    with ArtifactWriter(tmp_path / "merged") as writer:
        call = {"source": "train", "task_id": "a", "id": "a3", "target": 1, "tools": ["Calculator"]}
        texts = {"original": "miaow", "text": "[Calculator(1 + 2) → 3] miaow"}
        writer.write(contracts.CALLS_MERGED, [call | texts])
    with ArtifactWriter(tmp_path / "retrieved") as writer:
        base = {"task_id": "a", "id": "a1", "passage": 0, "document_id": "d", "score": 1.0}
        found = [
            {**base, "split": split, "rank": rank, "title": "Cats", "text": f"{split} number {rank}"}
            for split in ("train", "test")
            for rank in (2, 1)
        ]
        writer.write(contracts.EVIDENCE, found)
    return InputFolders(
        tmp_path / "split", tmp_path / "ingested", tmp_path / "merged", tmp_path / "retrieved"
    )


def recipe(**changes: Any) -> RecipeInputs:
    return SETTINGS.train.recipes["combined"].model_copy(update=changes)


def encode(
    sources: InputFolders,
    output: Path,
    model: Path,
    chosen: RecipeInputs,
    options: Encoding = SETTINGS.encoding,
) -> tuple[Tokenizer, list[dict[str, Any]]]:
    tokenizer = load_tokenizer(model)
    work = Build(sources, chosen, options, tokenizer)
    outcome = work.write(output, map(work.encode, range(len(work.units))))
    with pa.memory_map(str(output / "tokens" / TOKENS_FILE)) as source:
        rows = pa.ipc.open_file(source).read_all().to_pylist()
    assert sum(outcome.sides.values()) == len(rows)
    return tokenizer, rows


@pytest.mark.parametrize("batch", [2, 512])
def test_prompts_and_targets_are_those_of_the_instances(
    sources: InputFolders, tiny_model: Path, tmp_path: Path, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_module, "ROWS_PER_BATCH", batch)
    tokenizer, rows = encode(sources, tmp_path / "out", tiny_model, recipe(passages=1))
    assert [(r["side"], r["task_id"], r["id"]) for r in rows] == [
        *(("train", given["task_id"], given["id"]) for given in TRAIN),
        ("dev", "c", "c0"),
    ]
    for made, given in zip(rows, TRAIN + DEV, strict=True):
        assert len(made["prompts"]) == 1 and len(made["targets"]) == len(given["outputs"])
        text = tokenizer.decode(made["prompts"][0])
        if given["id"] == "a1":
            assert "Evidence 1 - Cats: train number 1\n" in text and "number 2" not in text
        else:
            wanted = model_input(
                TASKS[given["task_id"]], given["input"], SETTINGS.encoding, tokenizer, (), False
            )
            assert text == wanted
        for ids, answer in zip(made["targets"], given["outputs"], strict=True):
            assert ids[-1] == tokenizer.end and len(ids) <= 129
            said = tokenizer.decode(ids)
            if (given["id"], answer) == ("a3", "miaow"):
                assert said == " [Calculator(1 + 2) → 3] miaow"
            else:
                assert f" {answer}".startswith(said)
                assert (said == f" {answer}") == (given["id"] != "b0")
    # The long answer is cut to the limit, and closed all the same.
    assert len(rows[5]["targets"][0]) == 129


def test_the_mixed_mode_has_the_five_variants(
    sources: InputFolders, tiny_model: Path, tmp_path: Path
) -> None:
    options = SETTINGS.encoding.model_copy(update={"mixed": True})
    chosen = recipe(calls=None, passages=0)
    tokenizer, rows = encode(sources, tmp_path / "out", tiny_model, chosen, options)
    for made, given in zip(rows, TRAIN + DEV, strict=True):
        texts = [tokenizer.decode(ids) for ids in made["prompts"]]
        task = TASKS[given["task_id"]]
        wanted = [model_input(task, given["input"], o, tokenizer, (), False) for o in variants(options)]
        assert texts == wanted and len(set(texts)) == 5
    assert "Calculator" not in tokenizer.decode(rows[3]["targets"][1])


def test_an_encoder_decoder_keeps_the_published_form(sources: InputFolders, tmp_path: Path) -> None:
    options = SETTINGS.encoding.model_copy(update={"max_target_length": 16})
    chosen = recipe(data="supervised", calls=None, passages=0)
    tokenizer, rows = encode(
        sources, tmp_path / "out", encoder_decoder(tmp_path / "t5"), chosen, SETTINGS.encoding
    )
    assert [(r["side"], r["id"]) for r in rows] == [("train", "c9"), ("dev", "c0")]
    assert rows[0]["prompts"][0][-1] == tokenizer.end
    assert tokenizer.decode(rows[0]["prompts"][0]).endswith("Input: a goose.\nOutput: ")
    assert tokenizer.decode(rows[0]["targets"][0]) == "honk"
    _, rows = encode(sources, tmp_path / "cut", tmp_path / "t5", recipe(passages=0), options)
    assert len(rows[5]["targets"][0]) == 16 and rows[5]["targets"][0][-1] == tokenizer.end
    source = pa.memory_map(str(tmp_path / "cut" / "tokens" / TOKENS_FILE))
    assert pa.ipc.open_file(source).schema.metadata == {b"encoder_decoder": b"true"}


def test_nothing_to_train_on_is_told(sources: InputFolders, tiny_model: Path, tmp_path: Path) -> None:
    with ArtifactWriter(tmp_path / "empty") as writer:
        for contract in (contracts.TRAIN, contracts.DEV, contracts.SUPERVISED):
            writer.write(contract, [])
    empty = InputFolders(tmp_path / "empty", sources.ingested, None, None)
    with pytest.raises(NightjarError, match=r"no instances to train on; .*split\.test_instances_per_task"):
        encode(empty, tmp_path / "out", tiny_model, recipe(data="supervised"))
    assert not (tmp_path / "out").exists()


def test_instances_of_the_test_tasks_of_one_track(
    sources: InputFolders, tiny_model: Path, tmp_path: Path
) -> None:
    """The supervised upper bound of a track is trained on its own test tasks (Wang et al. 2022, section 5.2)."""
    roles = {"c": ("default", "test"), "a": ("default", "train"), "b": ("xlingual", "test")}
    with ArtifactWriter(tmp_path / "both") as writer:
        for task, (_, role) in roles.items():
            if role == "test":
                writer.write(contracts.SUPERVISED, [row(task, f"{task}9", "a goose", "honk")], part=task)
        writer.write(contracts.DEV, [])
        tracks = [
            {"track": track, "task_id": task, "role": role if track == own else "excluded", "reason": ""}
            for task, (own, role) in roles.items()
            for track in ("default", "xlingual")
        ]
        writer.write(contracts.SPLIT_TASKS, tracks)
    both = replace(sources, split=tmp_path / "both")

    def tasks(track: str | None) -> list[str]:
        chosen = recipe(data="supervised", calls=None, passages=0, track=track)
        _, rows = encode(both, tmp_path / f"{track}", tiny_model, chosen)
        return [given["task_id"] for given in rows]

    assert tasks(None) == ["b", "c"]
    assert tasks("default") == ["c"] and tasks("xlingual") == ["b"]
