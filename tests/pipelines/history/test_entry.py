"""Damage to an entry of the ledger is named by entry and file; what has no hash is not judged."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from pathlib import Path

import pytest

from pipelines.history import ledger as ledgers
from tests.pipelines.history.test_ledger import add, as_before_manifests, change, folder, rewrite


def test_every_damage_is_named_by_entry_and_file(tmp_path: Path) -> None:
    for name in "abcdef":
        add(tmp_path, name)
    assert ledgers.check(tmp_path) == ledgers.Checked(6, [], [])
    rewrite(folder(tmp_path, "a") / "run.parquet", b"PAR1 no more")
    change(folder(tmp_path, "b") / "run.parquet", state="worse")
    shutil.rmtree(folder(tmp_path, "c"))
    changed = folder(tmp_path, "d") / "instances.parquet"
    rewrite(changed, changed.read_bytes() + b" ")
    (folder(tmp_path, "d") / "scores.parquet").unlink()
    manifest = folder(tmp_path, "e") / "manifest.json"
    rewrite(manifest, manifest.read_text().replace('"sequence": 5', '"sequence":  5'))
    (folder(tmp_path, "f") / "manifest.json").unlink()
    assert ledgers.check(tmp_path) == ledgers.Checked(
        5,
        [
            "a: run.parquet was changed",
            "b: run.parquet was changed",
            "d: instances.parquet was changed",
            "d: scores.parquet is missing",
            "f: manifest.json is missing",
            "c: is missing; d was added after it",
        ],
        [],
    )
    (folder(tmp_path, "d") / "scores.parquet").mkdir()
    assert "d: scores.parquet: unreadable (Is a directory)" in ledgers.check(tmp_path).damage
    add(tmp_path, "g")
    rewrite(folder(tmp_path, "g") / "manifest.json", "{}")
    assert "g: manifest.json: key run is missing (and 2 more)" in ledgers.check(tmp_path).damage


def test_a_manifest_that_was_changed_is_told_by_the_next_entry(tmp_path: Path) -> None:
    for name in "abc":
        add(tmp_path, name)
    change(folder(tmp_path, "b") / "run.parquet", state="worse")
    manifest = folder(tmp_path, "b") / "manifest.json"
    listed = json.loads(manifest.read_text())
    listed["files"]["run.parquet"] = sha256(manifest.with_name("run.parquet").read_bytes()).hexdigest()
    rewrite(manifest, json.dumps(listed))
    assert ledgers.check(tmp_path).damage == ["b: manifest.json was changed; c has another hash of it"]
    as_before_manifests(folder(tmp_path, "b"))
    assert ledgers.check(tmp_path).damage == ["b: manifest.json is missing"]


def test_a_copied_entry_and_a_number_used_twice_are_told(tmp_path: Path) -> None:
    for name in "ab":
        add(tmp_path, name)
    shutil.copytree(folder(tmp_path, "a"), folder(tmp_path, "z"))
    assert ledgers.check(tmp_path).damage == ["z: the folder holds the run 'a'", "z: is run 1, as is a"]


@pytest.mark.parametrize("where", ["manifest.json", "run.parquet"])
def test_a_list_of_files_names_no_file_outside_its_entry(tmp_path: Path, where: str) -> None:
    ledger = tmp_path / "ledger"
    entry = add(ledger, "a")
    outside = tmp_path / "params.yaml"
    outside.write_text("seed: 1")
    strange = {"../../../params.yaml": sha256(b"seed: 1").hexdigest(), str(outside): "0" * 64}
    if where == "run.parquet":
        as_before_manifests(entry)
        files = ledgers.entries(ledger)[0]["files"]
        change(entry / where, files=json.dumps(files | strange))
    else:
        listed = json.loads((entry / where).read_text())
        listed["files"] |= strange
        rewrite(entry / where, json.dumps(listed))
    (line,) = ledgers.check(ledger).damage
    assert line.startswith(f"a: {where}: files.") and "../../../params.yaml" in line


def test_entries_of_earlier_versions_are_read_and_what_has_no_hash_is_no_damage(tmp_path: Path) -> None:
    for name in "abc":
        as_before_manifests(add(tmp_path, name))
    add(tmp_path, "d")
    assert [entry["run"] for entry in ledgers.entries(tmp_path)] == list("abcd")
    assert ledgers.check(tmp_path) == ledgers.Checked(4, [], ["a", "b", "c"])
    (folder(tmp_path, "a") / "verdicts.parquet").unlink()
    change(folder(tmp_path, "b") / "run.parquet", files=json.dumps({"scores.parquet": "7"}))
    shutil.rmtree(folder(tmp_path, "c"))
    assert ledgers.check(tmp_path).damage == [
        "a: verdicts.parquet is missing",
        "b: instances.parquet has no hash in run.parquet",
        "b: scores.parquet was changed",
        "b: verdicts.parquet has no hash in run.parquet",
        "missing: run 3",
    ]
