"""Damage to an entry of the ledger is named by entry and file; what has no hash is not judged."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from pathlib import Path

from pipelines.history import ledger as ledgers
from tests.pipelines.history.test_ledger import add, as_before_manifests, change, folder, rewrite


def test_every_damage_is_named_by_entry_and_file(tmp_path: Path) -> None:
    for name in "abcdef":
        add(tmp_path, name)
    assert ledgers.check(tmp_path) == (6, [])
    rewrite(folder(tmp_path, "a") / "run.parquet", b"PAR1 no more")
    change(folder(tmp_path, "b") / "run.parquet", state="worse")
    shutil.rmtree(folder(tmp_path, "c"))
    changed = folder(tmp_path, "d") / "instances.parquet"
    rewrite(changed, changed.read_bytes() + b" ")
    (folder(tmp_path, "d") / "scores.parquet").unlink()
    manifest = folder(tmp_path, "e") / "manifest.json"
    rewrite(manifest, manifest.read_text().replace('"sequence": 5', '"sequence":  5'))
    (folder(tmp_path, "f") / "manifest.json").unlink()
    assert ledgers.check(tmp_path) == (
        5,
        [
            "a: run.parquet was changed",
            "b: run.parquet was changed",
            "d: instances.parquet was changed",
            "d: scores.parquet is missing",
            "f: manifest.json: no such file or folder",
            "c: is missing; d was added after it",
        ],
    )
    (folder(tmp_path, "d") / "scores.parquet").mkdir()
    assert "d: scores.parquet: unreadable (Is a directory)" in ledgers.check(tmp_path)[1]
    add(tmp_path, "g")
    rewrite(folder(tmp_path, "g") / "manifest.json", "{}")
    assert "g: manifest.json: key run is missing (and 2 more)" in ledgers.check(tmp_path)[1]


def test_a_manifest_that_was_changed_is_told_by_the_next_entry(tmp_path: Path) -> None:
    for name in "abc":
        add(tmp_path, name)
    change(folder(tmp_path, "b") / "run.parquet", state="worse")
    manifest = folder(tmp_path, "b") / "manifest.json"
    listed = json.loads(manifest.read_text())
    listed["files"]["run.parquet"] = sha256(manifest.with_name("run.parquet").read_bytes()).hexdigest()
    rewrite(manifest, json.dumps(listed))
    assert ledgers.check(tmp_path)[1] == ["b: manifest.json was changed; c has another hash of it"]
    as_before_manifests(folder(tmp_path, "b"))
    assert ledgers.check(tmp_path)[1] == ["b: manifest.json: no such file or folder"]


def test_a_copied_entry_is_reported(tmp_path: Path) -> None:
    for name in "ab":
        add(tmp_path, name)
    shutil.copytree(folder(tmp_path, "a"), folder(tmp_path, "z"))
    assert ledgers.check(tmp_path)[1] == ["z: the folder holds the run 'a'"]


def test_a_manifest_names_no_file_outside_its_entry(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    entry = add(ledger, "a")
    outside = tmp_path / "params.yaml"
    outside.write_text("seed: 1")
    listed = json.loads((entry / "manifest.json").read_text())
    listed["files"] |= {"../../../params.yaml": sha256(b"seed: 1").hexdigest(), str(outside): "0" * 64}
    rewrite(entry / "manifest.json", json.dumps(listed))
    (line,) = ledgers.check(ledger)[1]
    assert line.startswith("a: manifest.json: files.") and "../../../params.yaml" in line


def test_an_entry_without_a_manifest_is_read_and_counts_as_damaged(tmp_path: Path) -> None:
    as_before_manifests(add(tmp_path, "a"))
    add(tmp_path, "b")
    assert [entry["run"] for entry in ledgers.entries(tmp_path)] == ["a", "b"]
    assert ledgers.check(tmp_path) == (2, ["a: manifest.json: no such file or folder"])
    told: list[str] = []
    assert [facts["run"] for facts in ledgers.good(tmp_path, told.append)] == ["b"]
    assert told == [f"skipped {folder(tmp_path, 'a')}: manifest.json: no such file or folder"]
