"""The checkpoint after every end: each byte at which a write can be cut, other processes, other runs, shards."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.core.errors import NightjarError
from nightjar.core.identity import contents, digest
from stages._runtime.checkpoint import KEEP, Checkpoint, Shard

STAGE, FACTS = "stage@x", {"setting": 1}
VALUES = [[{"text": "a\nb\u2028 \ud800", "n": 1}], {"text": "é", "p": 0.1}]


def whole(folder: Path, **facts: object) -> Checkpoint:
    return Checkpoint(STAGE, FACTS | facts, None, folder)


def written(folder: Path) -> Path:
    with whole(folder) as checkpoint:
        for number, value in enumerate(VALUES):
            checkpoint.add(number, value)
            assert checkpoint[number] == value
    return checkpoint.part


def test_what_is_added_is_there_when_opened_again(tmp_path: Path) -> None:
    written(tmp_path)
    with whole(tmp_path) as checkpoint:
        assert {unit: checkpoint[unit] for unit in checkpoint} == dict(enumerate(VALUES))
        assert checkpoint.todo(4) == [2, 3]
    with whole(tmp_path, another=2) as checkpoint:
        assert not checkpoint


def test_units_with_keys_are_found_whatever_their_numbers(tmp_path: Path) -> None:
    def keyed(*keys: str) -> Checkpoint:
        return Checkpoint(STAGE, FACTS, None, tmp_path, keys)

    with keyed("a", "c") as checkpoint:
        checkpoint.add(0, "of a")
        checkpoint.add(1, "of c")
    with keyed("c", "b", "a") as checkpoint:
        assert {unit: checkpoint[unit] for unit in checkpoint} == {2: "of a", 0: "of c"}
        assert checkpoint.todo(3) == [1]
        checkpoint.add(1, "of b")
    with keyed("b") as checkpoint:
        assert list(checkpoint) == [0] and checkpoint[0] == "of b" and len(checkpoint) == 1


def test_a_folder_keeps_the_work_of_runs_that_have_published(tmp_path: Path) -> None:
    for kept in (False, True):
        if kept:
            (tmp_path / KEEP).touch()
        written(tmp_path)
        with whole(tmp_path) as checkpoint:
            checkpoint.remove()
        with whole(tmp_path) as checkpoint:
            assert len(checkpoint) == (len(VALUES) if kept else 0)


def test_a_write_cut_at_any_byte_leaves_the_whole_units_and_can_be_gone_on_from(tmp_path: Path) -> None:
    part = written(tmp_path)
    complete = part.read_bytes()
    first = complete.index(b"\n") + 1
    for length in range(len(complete)):
        part.write_bytes(complete[:length])
        with whole(tmp_path) as checkpoint:
            assert list(checkpoint) == ([0] if length >= first else [])
            for number in checkpoint.todo(2):
                checkpoint.add(number, VALUES[number])
            assert [checkpoint[0], checkpoint[1]] == VALUES
        assert part.read_bytes() == complete


@pytest.mark.parametrize("damage", [b"{\0}\n", b"[]\n", b"{}\n", b"7\n"])
def test_what_follows_a_damaged_line_does_not_count(tmp_path: Path, damage: bytes) -> None:
    part = written(tmp_path)
    part.write_bytes(damage + part.read_bytes())
    with whole(tmp_path) as checkpoint:
        assert not checkpoint


def test_who_may_be_at_the_work_together(tmp_path: Path) -> None:
    def shard(text: str) -> Checkpoint:
        return Checkpoint(STAGE, FACTS, Shard.parse(text), tmp_path)

    with shard("1/2"), shard("2/2"), shard("2/3"):
        for other in (shard("1/2"), whole(tmp_path)):
            with pytest.raises(NightjarError, match="another process"), other:
                pass
    with whole(tmp_path) as checkpoint:
        for other in (shard("1/2"), whole(tmp_path)):
            with pytest.raises(NightjarError, match="another process"), other:
                pass
        checkpoint.remove()
    assert not list(tmp_path.iterdir())


def test_the_torn_end_of_another_part_is_left_alone(tmp_path: Path) -> None:
    """Its writer may be in the middle of that line."""
    with Checkpoint(STAGE, FACTS, Shard(1, 2), tmp_path) as one:
        one.add(0, "a")
        with one.part.open("ab") as stream:
            stream.write(b'{"unit": 2, ')
        before = one.part.read_bytes()
        with Checkpoint(STAGE, FACTS, Shard(2, 2), tmp_path) as two:
            assert list(two) == [0] and two.todo(4) == [1, 3]
        assert one.part.read_bytes() == before


def test_of_other_settings_the_newest_are_left_and_those_that_are_held(tmp_path: Path) -> None:
    def share(age: int, stage: str = STAGE) -> Checkpoint:
        return Checkpoint(stage, FACTS | {"killed": age}, Shard(1, 1), tmp_path)

    def left() -> set[Path]:
        return set(tmp_path.glob("*/*"))

    others = {age: share(age) for age in (3, 1, 5, 2, 4)} | {6: share(6, "stage@y")}
    for age, other in others.items():
        with other:
            other.add(0, age)
    foreign = tmp_path / "stage-x" / "notes"
    foreign.mkdir()
    with others[4], share(0) as more:
        everything = left()
        assert len(everything) == 8  # a share removes none
        for age, other in (others | {0: more}).items():
            os.utime(other.part, (1e9 - age, 1e9 - age))
        with whole(tmp_path) as checkpoint:
            gone = {others[age].folder for age in (2, 3, 5)}
            assert left() == everything - gone | {checkpoint.folder}
            checkpoint.remove()
    for age in (1, 4, 6):
        assert others[age][0] == age
    with whole(tmp_path):  # what was held is free now
        assert left() == everything - gone - {others[4].folder} | {checkpoint.folder}


Visit = tuple[int, int, int]
visits = st.lists(
    st.integers(1, 5).flatmap(lambda of: st.tuples(st.integers(1, of), st.just(of), st.integers(0, 6))),
    max_size=8,
)


@given(units=st.integers(0, 12), visits=visits)
def test_any_shards_in_any_order_killed_anywhere_leave_the_same_as_one_run(
    units: int, visits: list[Visit]
) -> None:
    """A visit: a shard that is killed in the middle of a line after so many units."""
    computed: list[int] = []
    with tempfile.TemporaryDirectory() as name:
        for number, of, most in visits:
            with Checkpoint(STAGE, FACTS, Shard(number, of), Path(name)) as checkpoint:
                todo = checkpoint.todo(units)
                assert all(unit % of == number - 1 for unit in todo)
                for unit in todo[:most]:
                    computed.append(unit)
                    checkpoint.add(unit, f"value {unit}")
            with checkpoint.part.open("ab") as stream:
                stream.write(b'{"unit": 1, "value": "tor')
        with whole(Path(name)) as checkpoint:
            for unit in checkpoint.todo(units):
                computed.append(unit)
                checkpoint.add(unit, f"value {unit}")
            assert [checkpoint[unit] for unit in range(units)] == [f"value {unit}" for unit in range(units)]
    assert sorted(computed) == list(range(units))  # nothing was done twice


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "1/0", "-1/2", "1/2/3", "a/b", " 1/2", "١/٢", "1/"])
def test_a_share_that_is_none(text: str) -> None:
    with pytest.raises(NightjarError, match="not a share of the work; give I/N"):
        Shard.parse(text)


def test_a_digest_sees_every_value_and_no_order() -> None:
    assert digest({"a": 1, "b": [1, None]}) == digest({"b": [1, None], "a": 1})
    assert len({digest(d) for d in ({"a": 1}, {"a": 1.5}, {"a": "1"}, {"b": 1}, {"a": [1]})}) == 5


def test_contents_see_names_bytes_and_order_but_no_byte_code(tmp_path: Path) -> None:
    (tmp_path / "f" / "__pycache__").mkdir(parents=True)
    (tmp_path / "f" / "a").write_text("1")
    (tmp_path / "g").write_text("2")
    seen = [contents(tmp_path / "f", tmp_path / "g")]
    (tmp_path / "f" / "__pycache__" / "a.pyc").write_text("x")
    assert contents(tmp_path / "f", tmp_path / "g") == seen[0]
    seen.append(contents(tmp_path / "g", tmp_path / "f"))
    (tmp_path / "f" / "a").rename(tmp_path / "f" / "b")
    seen.append(contents(tmp_path / "f", tmp_path / "g"))
    (tmp_path / "f" / "b").write_text("3")
    seen.append(contents(tmp_path / "f", tmp_path / "g"))
    assert len(set(seen)) == 4
