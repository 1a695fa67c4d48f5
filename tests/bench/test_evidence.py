"""The list of real runs, and how they are run: once for each commit, resumable, within the minutes."""

from __future__ import annotations

import itertools
import shlex
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from bench import evidence
from bench.pictures import results_text
from pipelines.cli import cli
from pipelines.fetch.needs import needs
from pipelines.run import profiles
from tests.conftest import ROOT, git

LISTED = evidence.runs()
PYTHON = shlex.quote(sys.executable)


@pytest.fixture()
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose run `good` counts its starts outside its clone, and `bad` fails at its second command."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "text.txt").write_text("committed", encoding="utf-8")
    counts = f"open('{tmp_path}/starts', 'a').write(open('text.txt').read() + ' ')"
    (root / "evidence.yaml").write_text(
        f"""
good: {{section: A, minutes: 1, commands: ["{PYTHON} -c \\"{counts}\\""]}}
makes: {{section: A, minutes: 1, makes: [a], commands: ["{PYTHON} -c \\"__import__('os').mkdir('a')\\""]}}
bad: {{section: A, minutes: 1, commands: ["{PYTHON} -V", "{PYTHON} -c \\"raise SystemExit(3)\\""]}}
long: {{section: B, minutes: 500, commands: ["{PYTHON} -V"]}}
real: {{section: B, minutes: 1, links: {{data/a: there}}, commands: ["{PYTHON} -c \\"print(open('data/a').read())\\""]}}
""",
        encoding="utf-8",
    )
    git(root, "init", "--quiet", ".")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "one")
    listed = evidence.runs(root / "evidence.yaml")
    monkeypatch.setattr(evidence, "PROJECT", root)
    monkeypatch.setattr(evidence, "FOLDER", root / ".nightjar" / "evidence")
    monkeypatch.setattr(evidence, "runs", lambda: listed)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("NIGHTJAR_REAL_DATA", raising=False)
    return root


def test_a_run_is_done_once_for_a_commit(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evidence.main(["good"]) == 0
    assert evidence.main(["good"]) == 0
    assert "done in 0 min" in capsys.readouterr().out
    assert (tmp_path / "starts").read_text(encoding="utf-8") == "committed "
    (project / "text.txt").write_text("changed", encoding="utf-8")
    git(project, "commit", "--quiet", "--all", "--message", "two")
    assert evidence.main(["good"]) == 0
    assert (tmp_path / "starts").read_text(encoding="utf-8") == "committed changed "


@pytest.mark.usefixtures("project")
def test_a_run_that_is_named_is_limited_only_by_minutes_that_are_given(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert evidence.main(["long", "--minutes", "499"]) == 0
    assert "left out: 499 minutes are left" in capsys.readouterr().out
    assert evidence.main(["long"]) == 0
    assert "done in 0 min" in capsys.readouterr().out


def test_what_fails_or_cannot_run_is_named(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evidence.main([]) == 1
    shown = capsys.readouterr().out
    assert "failed with exit status 3" in shown and "NIGHTJAR_REAL_DATA is not set" in shown
    assert "left out: 120 minutes are left" in shown
    data = tmp_path / "data"
    data.mkdir()
    monkeypatch.setenv("NIGHTJAR_REAL_DATA", str(data))
    assert evidence.main(["real"]) == 0
    assert "there is missing" in capsys.readouterr().out
    (data / "there").write_text("real text", encoding="utf-8")
    assert evidence.main(["real"]) == 0
    assert "real text" in (project / ".nightjar/evidence/real.log").read_text(encoding="utf-8")
    assert set(evidence.done(evidence.commit())) == {"good", "makes", "real"}


def test_what_a_run_makes_first_is_made_again(project: Path) -> None:
    """A command that makes a folder refuses one that is there, as after a run that was stopped."""
    assert evidence.main(["makes"]) == 0
    (project / "text.txt").write_text("changed", encoding="utf-8")
    git(project, "commit", "--quiet", "--all", "--message", "two")
    assert evidence.main(["makes"]) == 0


def test_the_list_runs_nothing(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evidence.main(["--list"]) == 0
    assert "to run" in capsys.readouterr().out and not (tmp_path / "starts").exists()
    with pytest.raises(SystemExit, match="2"):
        evidence.main(["nothing"])


@pytest.mark.parametrize("name", LISTED)
def test_a_listed_run_has_its_section_profile_and_programs(name: str) -> None:
    run = LISTED[name]
    assert f"\n## {run.section}\n" in results_text(ROOT)
    for command in run.commands:
        words = shlex.split(command)
        if words[0] == "python" and "--output" in words and not words[-1].startswith(".nightjar/"):
            assert words[words.index("--output") + 1] in run.makes
        if words[:2] == ["nightjar", "use"]:
            assert (ROOT / "profiles" / f"{words[2]}.yaml").is_file()
        elif words[:2] == ["python", "-m"]:
            module = ROOT / Path(*words[2].split("."))
            assert module.with_suffix(".py").is_file() or (module / "__main__.py").is_file()
        else:
            assert words[0] == "nightjar" and words[1] in (
                "rebuild",
                "ingest",
                "compare",
                "evaluate",
                "study",
            )


@pytest.mark.parametrize("name", [name for name, run in LISTED.items() if not run.gpu])
def test_a_listed_run_has_the_data_that_its_stages_read(name: str) -> None:
    """A rebuild of stages whose data are neither in the repository, linked nor made fails before it starts."""
    run, values = LISTED[name], dict[str, Any]()
    supplied = [*run.links, *run.makes]
    for words in map(shlex.split, run.commands):
        if words[:2] == ["nightjar", "use"]:
            settings = [word for option, word in itertools.pairwise(words) if option == "--set"]
            values = profiles.values_with(ROOT, words[2], settings)
        elif words[:2] == ["nightjar", "rebuild"]:
            absent = [need for need in needs(ROOT, values, words[2:])[1] if need.absent]
            assert not [
                str(need)
                for need in absent
                if not any(
                    Path(path).is_relative_to(need.source) or Path(need.source).is_relative_to(path)
                    for path in supplied
                )
            ]


WORDS = [shlex.split(command) for run in LISTED.values() for command in run.commands]


@pytest.mark.parametrize("words", [words[1:] for words in WORDS if words[0] == "nightjar"], ids=" ".join)
def test_every_command_of_nightjar_has_the_options_that_it_needs(words: list[str]) -> None:
    with click.Context(cli) as context:
        command = cli.get_command(context, words[0])
        assert command is not None
        try:
            command.make_context(words[0], words[1:], parent=context)
        except click.BadParameter as error:  # the real data, which are linked when the run starts
            assert "does not exist" in error.message
