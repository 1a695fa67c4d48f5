"""A rebuild whose display fails: it ends as it would have, and its logs are whole."""

from __future__ import annotations

import json

import pytest

from tests.pipelines.conftest import Repo

pytestmark = pytest.mark.slow

# Names that a format, a style or an emoji code could be made of.
DVC = """
stages:
  plain:
    foreach: ["{0}", "%s", "[red]"]
    do:
      cmd: printf '\\033]0;title\\007 of %s\\n' '${item}' && touch '${item}.out'
      outs: ["${item}.out"]
"""
SUB = """
stages:
  train:
    cmd: echo one && echo two && touch out
    deps: ["../%s.out"]
    outs: [out]
"""


def test_a_rebuild_whose_output_nobody_reads_ends_as_any_other(repo: Repo) -> None:
    (repo.root / "sub").mkdir()
    repo.write(dvc=DVC)
    (repo.root / "sub/dvc.yaml").write_text(SUB, encoding="utf-8")
    process = repo.start("rebuild", "--verbose")
    process.stdout.close()
    process.stderr.close()
    assert process.wait(90) == 0
    assert (repo.root / "sub/out").exists()
    logs = {path.stem: path.read_text() for path in repo.root.glob(".nightjar/logs/*/*.log")}
    assert len(logs) == 4 and all("\n" in text for text in logs.values())
    states = json.loads(repo.nightjar("plan", "--json").stdout)["stages"]
    names = {"plain@{0}", "plain@%s", "plain@[red]", "sub/dvc.yaml:train"}
    assert {it["stage"] for it in states} == names and {it["state"] for it in states} == {"up to date"}
