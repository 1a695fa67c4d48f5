"""DVC reads the same values from YAML that is parsed once."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from dvc.repo import Repo as DvcRepo
from dvc.utils import serialize
from dvc.utils.serialize import EncodingError, ParseError

from pipelines.graph import dvc_adapter, parsing
from tests.pipelines.conftest import Repo


def test_files_that_do_not_change_are_parsed_once_for_all_stages(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    stages = "".join(f"  s{at}: {{cmd: touch s{at}, params: [size], outs: [s{at}]}}\n" for at in range(3))
    dvc, params, lock = f"stages:\n{stages}", "size: 1\n", repo.root / "dvc.lock"
    repo.write(dvc=dvc, params=params)
    parsed = []
    parse = parsing._parse
    monkeypatch.setattr(parsing, "_parse", lambda text, *more: parsed.append(text) or parse(text, *more))
    parsing._parsed.cache_clear()
    with contextlib.chdir(repo.root), DvcRepo(str(repo.root)) as opened:
        for at in range(3):
            begun = dvc_adapter.begin(opened, f"s{at}")
            assert isinstance(begun, dvc_adapter.Begun)
            (repo.root / f"s{at}").touch()
            dvc_adapter.finish(opened, begun)
            dvc_adapter.abandon(begun)
        assert len(parsed) == len(set(parsed)) and {dvc, params, lock.read_text()} <= set(parsed)
        repo.write(params="size: 2\n")
        assert "1 → 2" in dvc_adapter.look(opened, "s0")[1]


def test_each_caller_has_a_copy_of_its_own() -> None:
    first = parsing.parse_yaml("a: {b: [1]}", "x.yaml")
    first["a"]["b"].append(2)
    assert parsing.parse_yaml("a: {b: [1]}", "x.yaml") == {"a": {"b": [1]}}


@pytest.mark.parametrize(
    "data", [b"a: 1\n", b"", b"- 1\n- {a: 2026-01-01}\n", b"a: [", b"\xff\xfe\xfa", b"a: 1\na: 2\n"]
)
def test_a_file_is_read_as_dvc_reads_it(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "some.yaml"
    path.write_bytes(data)
    results = []
    for load in (serialize.load_yaml, parsing.load_yaml, serialize.LOADERS[".yaml"]):
        try:
            results.append(load(str(path)))
        except (EncodingError, ParseError) as error:
            results.append((type(error), str(error)))
    assert results[0] == results[1] == results[2]
