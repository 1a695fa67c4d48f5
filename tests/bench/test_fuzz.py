"""Every reader of files from outside takes a broken file or refuses it in one line; no row is lost."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from bench import fuzz, mutate
from nightjar.core.errors import NightjarError

CASES, SEED = 100, 7
READERS = {reader.name: reader for reader in fuzz.readers()}


@pytest.mark.parametrize("name", READERS)
def test_broken_files_are_taken_or_refused_in_one_line(name: str, tmp_path: Path) -> None:
    reader = READERS[name]
    seeds = len(reader.seeds)  # the first cases
    assert fuzz.run(reader, seeds, SEED, tmp_path).accepted == seeds
    cases = seeds + round(CASES * reader.share)
    found = fuzz.run(reader, cases, SEED, tmp_path)
    assert found.faults == []
    assert found.accepted + found.refused == cases


def test_the_same_seed_gives_the_same_files_and_each_is_another() -> None:
    for reader in READERS.values():
        made = [fuzz.broken(reader, SEED, case) for case in range(30)]
        assert made == [fuzz.broken(reader, SEED, case) for case in range(30)]
        assert len(set(made)) > 20 and made[0] == reader.seeds[0]


def test_what_is_no_clean_refusal_is_a_fault(tmp_path: Path) -> None:
    """The property is one that a reader can break."""

    def reader(path: Path) -> None:
        number = int(path.read_bytes())
        if number == 1:
            raise KeyError("lost")
        if number == 2:
            raise NightjarError("wrong", "somewhere", "fix it")
        if number == 3:
            raise NightjarError("x" * 5000, path, "fix it")
        if number == 4:
            raise NightjarError("wrong", path, "fix it")

    def next_number(data: bytes, rng: random.Random) -> bytes:
        return str(rng.randrange(5)).encode()

    found = fuzz.run(
        mutate.FuzzedReader("numbers", (b"0",), next_number, "file.txt", reader), 200, SEED, tmp_path
    )
    kinds = {what.partition(":")[0] for _, what in found.faults}
    assert kinds == {"KeyError", "not one line that names the file"}
    assert found.accepted and found.refused and len(found.faults) < 200
