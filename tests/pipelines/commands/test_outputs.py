"""One rule for every place that a command is told to write to: checked before any work, nothing foreign is replaced."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from nightjar.core.errors import NightjarError
from nightjar.core.files import folder_output
from pipelines.cli import COMMANDS, MODULES
from pipelines.commands.options import OUTPUT
from tests.conftest import ROOT
from tests.in_process import refused

# Every command that writes where it is told to, the place last.
WRITERS = {
    "ingest": "--dataset corpus --input docs --output",
    "ingest --check": "--check --dataset natural_instructions --input docs --output",
    "evaluate": "--model server:http://127.0.0.1:9 --output",
    "export": "none",
    "score": "--benchmark supernatinst --predictions none --details",
    "references": "--benchmark supernatinst --output",
    "prompts": "--benchmark supernatinst --output",
    "submission": "--benchmark zeroscrolls --predictions none --output",
    "judge": "export --a none --b references --output",
    "compare": "--against none --output",
    "compare --html": "--a none --b none --html",
}
FOLDERS = ("ingest", "evaluate", "export", "compare")
OWN = "the project's own files are there"
TOOL = "a folder of Git, DVC, Python or Nightjar"
REFUSED = {
    "data/predict/supernatinst/mine": OWN,
    "data/report": OWN,
    "data/report/x": OWN,
    "data/metrics/x.json": OWN,
    "data/sample/x": OWN,
    "data/split/x/y": OWN,
    "models/base": OWN,
    "models/train/tk_instruct/x": OWN,
    "pipelines/x": OWN,
    "params.yaml": OWN,
    "dvc.lock": OWN,
    "x/../data/index": OWN,
    "way/x": OWN,
    ".": OWN,
    "..": OWN,
    ".git/x": TOOL,
    ".dvc/x": TOOL,
    ".venv/x": TOOL,
    ".nightjar/x": TOOL,
    ".gitignore": TOOL,
    "other/.git/hooks/x": TOOL,
    "kept/x": "DVC keeps kept",
    "loop/x": "loop/x: symbolic links in a circle",
    "new/" + "x" * 300: "name too long",
    "file/x": "not a folder",
    "file/x/y": "not a folder",
}


@pytest.fixture()
def project(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with its graph, without artifacts."""
    home = workdir / "project"
    for name in ("docs", "pipelines"):
        (home / name).mkdir(parents=True)
    monkeypatch.chdir(home)
    shutil.copyfile(ROOT / "dvc.yaml", "dvc.yaml")
    shutil.copyfile(ROOT / "params.yaml", "params.yaml")
    Path("way").symlink_to("pipelines")
    Path("loop").symlink_to("loop")
    for name in ("file", "kept.dvc"):
        Path(name).write_text("precious")
    return home


def tree(folder: Path) -> dict[str, bytes | None]:
    found = sorted(folder.rglob("*"))
    return {path.as_posix(): path.read_bytes() if path.is_file() else None for path in found}


def leaves(command: click.Command) -> Iterator[click.Command]:
    yield from command.commands.values() if isinstance(command, click.Group) else [command]


def test_every_place_that_a_command_writes_to_is_under_the_rule() -> None:
    found = set()
    for name in COMMANDS:
        command = getattr(importlib.import_module(f"pipelines.commands.{MODULES.get(name, name)}"), name)
        for leaf in leaves(command):
            found |= {(name, it.name) for it in leaf.params if it.type is OUTPUT}
            told = {it.name for it in leaf.params if it.name in ("output", "directory", "details")}
            assert {(name, one) for one in told} <= found
    named = {words.split()[0] for words in WRITERS}
    assert {name for name, _ in found} == named and len(found) == len(WRITERS) - 1  # ingest has one for two


@pytest.mark.parametrize("writer", WRITERS)
def test_no_command_writes_where_the_project_or_a_tool_keeps_its_own(project: Path, writer: str) -> None:
    before = tree(project.parent)
    for place, told in REFUSED.items():
        for form in (place, str(project / place)):
            error = refused(writer.split()[0], *WRITERS[writer].split(), form)
            assert told in error, place
    assert tree(project.parent) == before


def test_what_git_has_of_a_project_is_its_own() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a clone")
    for name in {line.partition("/")[0] for line in listed.stdout.splitlines()} - {"data"}:
        error = refused("references", "--benchmark", "supernatinst", "--output", str(ROOT / name))
        assert OWN in error or TOOL in error, name


@pytest.mark.parametrize("writer", FOLDERS)
def test_a_folder_with_foreign_files_stays(project: Path, writer: str) -> None:
    for name in ("index.html", "comparison.json", "qmsum.json", "evaluation.json/x"):
        place = Path("data/mine", name.partition(".")[0], name)
        place.parent.mkdir(parents=True)
        place.write_text("precious")
    before = tree(project)
    for folder in Path("data/mine").iterdir():
        error = refused(writer.split()[0], *WRITERS[writer].split(), str(folder))
        assert str(folder) in error
        assert "in it" in error or "not empty" in error or "no part" in error, error
    assert tree(project) == before


@pytest.mark.parametrize("earlier", [False, True], ids=["new", "replaced"])
@pytest.mark.parametrize("foreign", ["out/precious", "out"], ids=["folder", "file"])
def test_what_is_made_meanwhile_stays(tmp_path: Path, earlier: bool, foreign: str) -> None:
    out = tmp_path / "out"
    if earlier:
        out.mkdir()
        (out / "own").touch()

    def other(folder: Path) -> str:
        return ", ".join(sorted(it.name for it in folder.iterdir() if it.name != "own"))

    with pytest.raises(NightjarError) as raised, folder_output(out, (), other if earlier else None) as made:
        (made / "own").write_text("new")
        if foreign == "out" and earlier:
            shutil.rmtree(out)
        (tmp_path / foreign).parent.mkdir(exist_ok=True)
        (tmp_path / foreign).write_text("precious")
    assert str(out) in str(raised.value) and ".tmp-" not in str(raised.value)
    assert (tmp_path / foreign).read_text() == "precious"
    assert [it.name for it in tmp_path.iterdir()] == ["out"]


def test_an_earlier_output_is_replaced_and_a_fault_leaves_it(tmp_path: Path) -> None:
    out = tmp_path / "deep/out"
    for text in ("one", "two"):
        with folder_output(out, (), lambda folder: "") as made:
            (made / "own").write_text(text)
    assert (out / "own").read_text() == "two"
    with pytest.raises(NightjarError, match="the disk is full"), folder_output(out, (), lambda _: "") as made:
        (made / "own").write_text("three")
        raise OSError(28, "No space left on device", str(made / "own"))
    assert (out / "own").read_text() == "two" and os.listdir(tmp_path / "deep") == ["out"]


def test_a_line_of_any_length_is_cut_and_keeps_the_fix(project: Path) -> None:
    long = "x" * 5000
    for words in (
        ("evaluate", "--model", f"server:{long}", "--output", "run"),
        ("evaluate", "--model", f"hub:{long}", "--output", "run"),
        ("ask", "a", "--system", long),
        ("score", "--benchmark", long, "--predictions", "p"),
        ("references", "--benchmark", "supernatinst", "--output", long),
        (long,),
        ("ask", f"--{long}"),
        ("score", "--benchmark", "protoqa", "--predictions", "p", "--samples", long),
    ):
        error = refused(*words)
        assert len(error) <= 2000, words[0]
    line = str(NightjarError("w" * 9000, "here", "do this"))
    assert line.startswith("here: w") and line.endswith("; do this") and len(line) < 2000


@pytest.mark.parametrize("place", ["loop", "loop/x"])
def test_links_in_a_circle_are_one_line(project: Path, place: str) -> None:
    for words in (
        "ask --system x --file",
        "ask a --system",
        "check",
        "compare --benchmark supernatinst --b none --a",
        "encode --task",
        "evaluate --output run --model",
        "ingest --dataset corpus --output out --input",
        "judge export --output page.html --b references --a",
        "compare --against",
        "score --benchmark supernatinst --predictions",
        "submission --benchmark zeroscrolls --check",
    ):
        refused(*words.split(), place)


def test_an_argument_that_is_not_utf_8_is_one_line(project: Path) -> None:
    bad = os.fsdecode(b"\xff")
    for words in (
        ("ask", bad, "--system", "x"),
        ("ask", "a", "--system", "x", "--definition", bad),
        ("ask", "a", "--system", bad),
        ("export", "x", "out", "--license", bad),
        ("evaluate", "--output", "run", "--model", bad),
        ("evaluate", "--output", "run", "--model", "m", "--tasks", bad),
        ("compare", "--against", bad),
    ):
        error = refused(*words)
        assert "not UTF-8" in error, words
