"""Every command on wrong input: status 2 and one line that tells what, where and what to do."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from nightjar.params import profile_values
from pipelines.cli import COMMANDS, cli, main
from tests.in_process import captured, check_refusals, nightjar, refused
from tests.pipelines.commands.test_console import terminal
from tests.pipelines.conftest import NIGHTJAR, Repo, environment

ROOT = Path(__file__).parents[2]
TASK = {
    "Definition": ["Say the colour."],
    "Positive Examples": [{"input": "grass", "output": "green", "explanation": "it is"}],
    "Negative Examples": [],
    "Instances": [{"id": "t-1", "input": "the sky", "output": ["blue", "grey"]}],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with profiles, a task file and broken files."""
    root = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "profiles", root / "profiles")
    (root / "task.json").write_text(json.dumps(TASK))
    (root / "p.jsonl").write_text('{"id": "1", "prediction": "a"}\n{"id": "1"\n')
    (root / "r.jsonl").write_text('{"id": "1", "references": ["a"], "task_id": "t", "task_category": "c"}\n')
    (root / "empty").mkdir()
    return root


def test_wrong_input_is_status_2_and_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    check_refusals("files")


@pytest.fixture
def nameless(monkeypatch: pytest.MonkeyPatch) -> None:
    """An account that the machine does not know, as in a container with another user id; without a home directory."""

    def unknown(user_id: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {user_id}")

    monkeypatch.setattr("pwd.getpwuid", unknown)
    for variable in ("LOGNAME", "USER", "LNAME", "USERNAME", "HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, "")  # so that what the command sets is undone
        monkeypatch.delenv(variable)


@pytest.mark.usefixtures("nameless")
def test_an_account_without_a_home_directory_is_one_line(repo: Repo) -> None:
    repo.write(dvc="stages: {one: {cmd: 'true'}}\n")
    result = repo.here("plan")
    assert result.returncode == 2
    assert result.stderr == (
        "nightjar: HOME: this account has no home directory; set it to a folder of yours: export HOME=FOLDER\n"
    )


@pytest.mark.usefixtures("nameless")
def test_an_account_without_a_name_is_as_good_as_any(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    repo.write(dvc="stages: {one: {cmd: 'true'}}\n")
    result = repo.here("plan")
    assert (result.returncode, result.stderr) == (0, "") and "one" in result.stdout


def test_without_a_command_the_usage_is_printed() -> None:
    done = captured(main, [])
    assert done.returncode == 2 and "Usage:" in done.stdout


@pytest.mark.parametrize("command", [*COMMANDS, "judge export", "judge score"])
def test_every_command_has_help_with_an_example(command: str) -> None:
    told = nightjar(*command.split(), "--help")
    assert f"Example:\n    nightjar {command}" in told
    if command not in ("rebuild", "ui", "judge"):
        assert "--json" in told


def test_help_is_quick_and_imports_nothing_heavy(folder: Path) -> None:
    code = (
        "import sys\nfrom pipelines.cli import main\ntry:\n    main(['--help'])\n"
        "finally:\n    heavy = {'dvc', 'prefect', 'torch', 'pyarrow', 'pandas', 'rich'}\n"
        "    print(sorted(heavy & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime - before.ru_utime < 0.5  # processor time: others may use the machine
    assert result.stdout.endswith("[]\n")
    assert all(command in result.stdout for command in COMMANDS)


def test_call_and_its_json(workdir: Path) -> None:
    assert nightjar("call", "Calculator(400 / 1400)") == "0.29\n"
    told = json.loads(nightjar("call", "Calculator(2 * 3)", "--json"))
    assert told == {"call": "Calculator(2 * 3)", "result": "6"}
    assert "February 29, 2024" in nightjar("call", "Calendar()", "--date", "2024-02-29")
    line = refused("call", "WikiSearch(x)", "--resource", "no/index")
    assert "no/index/lexical: no lexical index" in line


def redirected(folder: Path, redirection: str, *arguments: str) -> tuple[int, str, str]:
    """`nightjar` whose streams the shell redirects (9: a pipe without a reader): exit status and output."""
    read, write = os.pipe()
    os.close(read)
    try:
        result = subprocess.run(
            ["bash", "-c", f'exec 9>&{write}; exec "$@" {redirection}', "bash", *NIGHTJAR, *arguments],
            cwd=folder,
            env=environment(),
            capture_output=True,
            timeout=200,
            stdin=subprocess.DEVNULL,
            pass_fds=[write],
        )
    finally:
        os.close(write)
    return result.returncode, result.stdout.decode(errors="replace"), result.stderr.decode(errors="replace")


def test_output_that_nobody_reads_changes_no_exit_status(folder: Path) -> None:
    good, bad = ("call", "Calculator(400 / 1400)"), ("call", "Calculator(1/0)")
    assert redirected(folder, ">&9", *good) == (0, "", "")
    assert redirected(folder, "2>&9", *bad) == (2, "", "")
    assert redirected(folder, ">&-", *good) == (0, "", "")
    assert redirected(folder, "<&- >&- 2>&-", *bad) == (2, "", "")
    assert redirected(folder, "2>&-", *good) == (0, "0.29\n", "")


def test_output_that_a_full_disk_lost_is_an_error_of_one_line(folder: Path) -> None:
    code, out, err = redirected(folder, "> /dev/full", "call", "Calculator(400 / 1400)")
    assert (code, out) == (2, "")
    assert err.startswith("nightjar: standard output: ") and err.count("\n") == 1, err
    assert "No space left on device" in err and "; " in err


def test_what_was_typed_cannot_steer_the_terminal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    name = "no\x1b[2J\x9b\u202ewhere\nnightjar: all is well\x07"
    ingest = ["ingest", "--dataset", "corpus", "--output", "out", "--input", name]
    for arguments in ([name], ["plan", f"--{name}"], ["use", name], ingest):
        err = refused(*arguments)
        assert not set("\x1b\x07\x9b\u202e") & set(err) and "\\x1b" in err


def test_other_packages_draw_no_bars(folder: Path) -> None:
    """The bar of a command stays one line."""
    code = "from pipelines.cli import main\ntry: main(['call', 'Calculator(1)'])\nexcept SystemExit: pass\n"
    code += "from tqdm import tqdm\nlist(tqdm([1, 2]))"
    set_before = {name: value for name, value in environment().items() if name != "TQDM_DISABLE"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=set_before, capture_output=True, text=True
    )
    assert (done.stdout.strip(), done.stderr) == ("1", "")


def test_an_error_is_wrapped_between_words_on_a_terminal(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    shown = terminal(monkeypatch, 60, "stderr")
    with pytest.raises(SystemExit, match="2"):
        main(["use", "nothing"])
    lines = shown.getvalue().splitlines()
    assert len(lines) > 2 and max(map(len, lines)) <= 60
    names = " ".join(lines).partition("there are: ")[2].split(", ")
    assert names == profile_values.names(ROOT)


def options(command: click.Command, path: str = "") -> Iterator[tuple[str, click.Option]]:
    """Every option of a command and of those below it."""
    for option in command.params:
        if isinstance(option, click.Option):
            yield f"{path} {option.opts[0]}", option
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            below = command.get_command(click.Context(command), name)
            assert below is not None
            yield from options(below, f"{path} {name}")


def test_every_number_has_a_largest_value() -> None:
    found = [
        (name, it)
        for name, it in options(cli)
        if isinstance(it.type, click.types.IntParamType | click.types.FloatParamType)
    ]
    assert len(found) > 15
    for name, option in found:
        assert isinstance(option.type, click.IntRange | click.FloatRange), f"{name} has no range"
        assert option.type.min is not None and option.type.max is not None, f"{name} has no largest value"
