"""Instances of raw task files, one or as TSV, and files that are none."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from stages.errors import NightjarError
from stages.params import Encoding
from stages.prompts.encoding import encode
from stages.prompts.encodings import variants
from stages.prompts.gpt2_bpe import Gpt2Bpe
from stages.prompts.inspect import encode_file, task_from_file, tsv_lines

OPTIONS = Encoding(
    definition=True,
    positive_examples=2,
    negative_examples=0,
    explanation=False,
    task_name=True,
    mixed=False,
    trim_input=False,
    max_source_length=1024,
    max_target_length=128,
)
MIXED = OPTIONS.model_copy(update={"mixed": True})
RAW = {
    "Definition": "Count.",
    "Positive Examples": [{"input": "a b", "output": "2", "explanation": ""}],
    "Negative Examples": [],
    "Instances": [{"id": "1", "input": "a", "output": ["1", "one"]}],
}


def test_encode_file(tmp_path: Path) -> None:
    file = tmp_path / "task9_count.json"
    file.write_text(json.dumps(RAW))
    told = encode_file(file, 0, OPTIONS, Gpt2Bpe(), 1)
    assert told["references"] == ["1", "one"]
    assert told["source"].startswith("task9_count. Definition: Count.\n\n Positive Example 1 -")
    assert task_from_file(file)["definition"] == "Count."


@pytest.mark.parametrize(
    ("change", "instance", "what"),
    [
        ({}, 1, "no instance 1 among 1"),
        ({}, -1, "no instance -1"),
        ({"Instances": []}, 0, "among 0"),
        ({"Instances": None}, 0, "no list under the key Instances"),
        ({"Instances": ["x"]}, 0, "no text under the key input"),
        ({"Instances": [{"input": "a", "output": "b"}]}, 0, "output is not a list of texts"),
        ({"Definition": []}, 0, "Definition"),
        ({"Positive Examples": [{"input": "a"}]}, 0, "must be texts"),
        ({"Negative Examples": ["a"]}, 0, "not an object"),
    ],
)
def test_encode_file_refuses(tmp_path: Path, change: dict[str, Any], instance: int, what: str) -> None:
    file = tmp_path / "task.json"
    file.write_text(json.dumps({**RAW, **change}))
    with pytest.raises(NightjarError, match=what):
        encode_file(file, instance, OPTIONS, Gpt2Bpe(), 1)


@pytest.mark.parametrize(
    ("content", "what"), [(b"{", "not JSON"), (b"[]", "not a JSON object"), (b"\xff", "not UTF-8 at byte 0")]
)
def test_encode_file_refuses_files(tmp_path: Path, content: bytes, what: str) -> None:
    file = tmp_path / "task.json"
    file.write_bytes(content)
    with pytest.raises(NightjarError, match=what):
        encode_file(file, 0, OPTIONS, Gpt2Bpe(), 1)
    with pytest.raises(NightjarError, match="no such file"):
        encode_file(tmp_path / "none.json", 0, OPTIONS, Gpt2Bpe(), 1)


def write(folder: Path, instances: list[dict[str, Any]]) -> Path:
    file = folder / "task9_count.json"
    file.write_text(json.dumps({**RAW, "Instances": instances}))
    return file


def test_tsv_collapses_white_space(tmp_path: Path) -> None:
    file = write(
        tmp_path, [{"input": "a\tb\u00a0\n c", "output": [" one\n\n two\t"]}, {"input": "d", "output": ["4"]}]
    )
    assert list(tsv_lines(file, OPTIONS, Gpt2Bpe(), 1)) == [
        "task9_count. Definition: Count. Positive Example 1 - Input: a b. Output: 2. "
        "Now complete the following example - Input: a b c. Output:\tone two",
        "task9_count. Definition: Count. Positive Example 1 - Input: a b. Output: 2. "
        "Now complete the following example - Input: d. Output:\t4",
    ]


def test_tsv_draws_every_reference_and_every_encoding(tmp_path: Path) -> None:
    references = ["w", "x", "y"]
    file = write(tmp_path, [{"input": "a", "output": references}] * 600)
    lines = list(tsv_lines(file, MIXED, Gpt2Bpe(), 5))
    assert lines == list(tsv_lines(file, MIXED, Gpt2Bpe(), 5)) != list(tsv_lines(file, MIXED, Gpt2Bpe(), 6))
    labels = [line.partition("\t")[2] for line in lines]
    # Binomial with n = 600: seven standard deviations around the mean.
    assert all(abs(labels.count(label) - 200) < 82 for label in references)
    task = task_from_file(file)
    # The task has no negative examples, so two of the five encodings look alike.
    sources = [" ".join(encode(task, "a", chosen, Gpt2Bpe()).source.split()) for chosen in variants(MIXED)]
    drawn = [line.partition("\t")[0] for line in lines]
    assert set(drawn) == set(sources) and len(set(sources)) == 4
    assert all(abs(drawn.count(source) - 120 * sources.count(source)) < 82 for source in sources)


def test_a_mixed_instance_is_drawn_by_the_seed(tmp_path: Path) -> None:
    file = write(tmp_path, [{"input": "a", "output": ["1"]}])
    task = task_from_file(file)
    for seed in range(20):
        chosen = random.Random(seed).choice(variants(MIXED))
        told = encode_file(file, 0, MIXED, Gpt2Bpe(), seed)["source"]
        assert told == encode(task, "a", chosen, Gpt2Bpe()).source


def test_tsv_tells_a_missing_reference_before_any_line(tmp_path: Path) -> None:
    file = write(tmp_path, [{"input": "a", "output": ["1"]}, {"input": "b", "output": []}])
    with pytest.raises(NightjarError, match=r"Instances\[1\]: no reference"):
        next(tsv_lines(file, OPTIONS, Gpt2Bpe(), 1))
