"""`nightjar plan --profile`: the stages of a set-up, and each source that must be supplied for it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from nightjar.core.errors import NightjarError
from nightjar.params.profile_values import names, values
from pipelines.commands.plan import plan
from tests.conftest import ROOT

# Folders that stages write; whatever else a setting names must be supplied, or be in the repository.
_DATA = "none|ingest|split|augment|augment_merge|index|questions|retrieve|rerank"
MADE = rf"models/(base|train|readers|qa)/|data/({_DATA})\b"


@pytest.fixture()
def project(workdir: Path) -> Path:
    """The current folder: a project as a fresh clone has it, without data that are not in the repository."""
    shutil.copytree(ROOT / "profiles", workdir / "profiles")
    shutil.copy(ROOT / "dvc.yaml", workdir)
    for folder in ("data/consistency", "data/rerank", "data/retrieve", "models/train", "models/qa"):
        (workdir / folder).mkdir(parents=True)
    (workdir / "data/none").touch()
    for folder in ("nightjar", "stages", "data/sample"):
        (workdir / folder).symlink_to(ROOT / folder)
    return workdir


def told(*arguments: str) -> str:
    done = CliRunner().invoke(plan, ["--profile", *arguments], catch_exceptions=False)
    assert done.exit_code == 0
    return done.output


def supply(profile: str) -> dict[str, Any]:
    return {row["source"]: row for row in json.loads(told(profile, "--json"))["supply"]}


@pytest.mark.parametrize("name", names(ROOT))
def test_every_source_of_a_profile_is_in_the_table(project: Path, name: str) -> None:
    needed = supply(name)
    assert all(row["described"] and row["stages"] for row in needed.values())
    # By the text of the file alone.
    text = re.sub("#.*", "", (ROOT / f"profiles/{name}.yaml").read_text())
    for source in re.findall(r"(?:hub:|\b(?:models|data)/)[\w./-]+", text):
        own = source.startswith(("data/sample", "data/ledger", *needed))
        assert own or re.match(MADE, source) or name == "sample", source


def test_a_source_that_is_there_is_present(project: Path) -> None:
    assert {row["state"] for row in supply("paper").values()} == {"missing"}
    (project / "models/t5-xl-lm-adapt").mkdir(parents=True)
    states = {source: row["state"] for source, row in supply("paper").items()}
    assert states == {"models/t5-xl-lm-adapt": "present", "data/fetched/natural_instructions": "missing"}
    assert supply("zeroscrolls")["hub:google/flan-t5-xxl"]["state"] == "to download"
    (project / "data/fetched/protoqa").mkdir(parents=True)
    assert supply("quick")["data/fetched/protoqa"]["state"] == "missing", "of its files some are read by name"
    row = supply("real")["data/fetched/tool_use"]
    assert (
        row["state"] == "missing" and row["url"].startswith("https://") and "CC-BY-NC-4.0" in row["licence"]
    )
    assert row["fix"] == "fetch it: nightjar fetch tool_use --accept-licence"
    assert supply("pgra")["data/fetched/wiki1m"]["fix"] == "fetch it: nightjar fetch wiki1m", (
        "no other corpus"
    )
    assert "To fetch them: nightjar fetch classification natural_instructions protoqa tool_use" in told(
        "real"
    )


def test_a_data_set_of_which_a_part_was_fetched_is_incomplete(project: Path) -> None:
    (project / "data/fetched/zeroscrolls").mkdir(parents=True)
    record = {"licence": "MIT", "citation": "none", "sources": [], "files": {}}
    (project / "data/fetched/zeroscrolls.json").write_text(json.dumps({"qmsum": record, "squality": record}))
    row = supply("real")["data/fetched/zeroscrolls"]
    assert (row["state"], row["fix"]) == (
        "incomplete",
        "fetch it: nightjar fetch zeroscrolls --accept-licence",
    )


@pytest.mark.parametrize("name", ["real", "quick"])
def test_the_profiles_on_real_data_cover_every_benchmark_and_need_only_what_fetch_gets(
    project: Path, name: str
) -> None:
    found = json.loads(told(name, "--json"))
    stages = {row["stage"] for row in found["stages"]}
    assert "report" in stages
    assert {f"evaluate@{one}" for one in values(ROOT, "sample")["benchmarks"]} <= stages
    datasets = [Path(row["source"]).name for row in found["supply"]]
    assert {row["source"] for row in found["supply"]} == {f"data/fetched/{one}" for one in datasets}
    assert found["fetch"] == " ".join(["nightjar fetch", *datasets, "--accept-licence"])
    if name == "quick":
        assert not [stage for stage in stages if stage.startswith("train")]


def test_a_source_that_no_supply_describes_is_named(project: Path) -> None:
    (project / "profiles/mine.yaml").write_text(
        "extends: sample\n"
        "models: {language_model: {source: hub:me/mine, sha256: null}}\ningest: {protoqa: {path: data/mine}}\n"
        "tools: {all: {question_answering: {model: models/mine}}}\n"
    )
    needed = supply("mine")
    assert set(needed) == {"hub:me/mine", "data/mine", "models/mine"}
    assert needed["data/mine"]["stages"] == ["ingest@protoqa"] and not needed["data/mine"]["described"]
    assert re.search(r"^data/mine +\? +\? +missing *$", told("mine"), flags=re.M)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("takes: 3", "takes = 3 is not allowed"),
        ("targets: all", "targets = 'all' is not allowed"),
        ("targets: [nope]", "nope: no such stage"),
    ],
)
def test_a_broken_profile_is_one_line(project: Path, text: str, wrong: str) -> None:
    (project / "profiles/mine.yaml").write_text(text)
    with pytest.raises(NightjarError) as caught:
        told("mine")
    assert wrong in str(caught.value)


def test_the_command(project: Path) -> None:
    text = told("toolformer")
    assert re.match(r"Profile toolformer, from nothing: \d+ stages would run\.\n", text)
    assert re.search(r"^train@toolformer +Fine-tunes the language model by one recipe", text, flags=re.M)
    assert re.search(r"^models/gpt-j-6b +Apache-2.0 +24.2 +missing *$", text, flags=re.M)
    assert "https://huggingface.co/EleutherAI/gpt-j-6b; put it there, or set models." in text
    assert "It takes " in told("real")
    split = json.loads(told("paper", "--json", "split"))
    assert [row["stage"] for row in split["stages"]] == ["code", "ingest@natural_instructions", "split"]
    assert [row["source"] for row in split["supply"]] == ["data/fetched/natural_instructions"]
    assert "Nothing to supply.\n" in told("sample")
