"""The command `doctor`: whether this machine and this project can do a rebuild, one line a check."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any, Literal, NamedTuple

import click

from nightjar.core import paths
from nightjar.core.config import PARAMS_FILE, read_yaml
from nightjar.core.errors import NightjarError
from pipelines.commands.console import say
from pipelines.commands.options import CommandResult, printed
from pipelines.serving.server import installed

# What a rebuild of the sample takes: its environment, models, and DVC's cache; and two trainings side by side.
DISK_GB, MEMORY_GB = 5, 8
PORT = 4200


class Finding(NamedTuple):
    """One line: what was checked, how it is, and what to do if it is not well."""

    check: str
    state: Literal["ok", "warning", "failed"]
    text: str
    fix: str = ""


def _print(findings: Sequence[dict[str, Any]]) -> None:
    for finding in findings:
        fix = f"; {finding['fix']}" if finding["fix"] else ""
        say(f"{finding['state']:<8} {finding['check']}: {finding['text']}{fix}")


@click.command()
@printed()
def doctor() -> CommandResult:
    """Check environment, project, data, models, GPU, memory, disk and ports, one line each with what to do.

    It only reads, and takes a few seconds. The exit status is 2 if a rebuild would fail. In a folder without a project
    it says what works there.

    \b
    Example:
      nightjar doctor
    """
    checks: tuple[Callable[[], Iterator[Finding]], ...] = (
        (_environment, _prefect, _project, _identity, _data, _gpu, _memory, _disk, ports)
        if Path("dvc.yaml").is_file() or PARAMS_FILE.is_file()
        else (_environment, _no_project, _gpu, _memory, _disk)
    )
    findings = [finding._asdict() for check in checks for finding in check()]
    failed = any(finding["state"] == "failed" for finding in findings)
    return CommandResult(findings, _print, status=2 if failed else 0)


def _environment() -> Iterator[Finding]:
    from packaging.requirements import Requirement

    requirements = [Requirement(text) for text in requires("nightjar") or ()]
    faults = []
    for requirement in requirements:
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            installed_version = version(requirement.name)
        except PackageNotFoundError:
            faults.append(f"{requirement.name} is missing")
            continue
        if not requirement.specifier.contains(installed_version, prereleases=True):
            faults.append(f"{requirement.name} is {installed_version}, not {requirement.specifier}")
    python = f"Python {sys.version.split()[0]}"
    if faults:
        fix = "install it again: make environment in a clone, else pip install"
        yield Finding("environment", "failed", f"{python}, {'; '.join(faults)}", fix)
    else:
        yield Finding("environment", "ok", f"{python}, {len(requirements)} packages as required")


def _prefect() -> Iterator[Finding]:
    if not installed():
        fix = "pip install -c requirements.lock -e '.[prefect]'"
        yield Finding(
            "Prefect", "warning", "not installed: nightjar rebuild needs it, dvc repro does not", fix
        )


def _project() -> Iterator[Finding]:
    from pipelines.project.git import git

    if not Path("dvc.yaml").is_file():
        yield Finding("project", "failed", "no dvc.yaml here", "run it in the project's root")
    elif not Path(".dvc").is_dir():
        yield Finding("project", "failed", "DVC is not set up here", "run: dvc init")
    else:
        try:
            git(Path(), "rev-parse", "HEAD")
        except NightjarError as error:
            other_account = "safe.directory" in error.fix
            what = "Git does not read the repository" if other_account else "no Git repository with a commit"
            yield Finding(
                "project", "failed", what, error.fix if other_account else "run: git init, then commit"
            )
        except OSError:
            yield Finding("project", "failed", "Git is not installed", "install git")
        else:
            yield Finding("project", "ok", "a Git repository with DVC")


def _identity() -> Iterator[Finding]:
    """The name and address that Git puts into a commit: without them `git commit` fails."""
    from pipelines.project.git import try_git

    if shutil.which("git") and try_git(Path(), "var", "GIT_COMMITTER_IDENT") is None:
        text = "Git knows neither your name nor your address: git commit needs them, as for dvc.lock"
        fix = "run: git config --global user.name NAME, and the same with user.email ADDRESS"
        yield Finding("identity", "warning", text, fix)


def _no_project() -> Iterator[Finding]:
    """The commands that work in a folder without a project: those that read files or published data alone."""
    text = "none in this folder; evaluate with --data or --task, score, compare and fetch work without one"
    fix = "for a rebuild, run it in the root of a clone"
    yield Finding("project", "ok", text, fix)


def _data() -> Iterator[Finding]:
    from nightjar.params import load

    try:
        load()
    except NightjarError as error:
        yield Finding("parameters", "failed", str(error))
        return
    yield Finding("parameters", "ok", f"{PARAMS_FILE} is valid")
    if not Path("dvc.yaml").is_file():
        return
    from pipelines.fetch.needs import needs
    from pipelines.project.applied_profile import applied_targets

    absent, targets = set(), applied_targets(Path())
    try:
        needed = needs(Path(), read_yaml(PARAMS_FILE), targets)[1]
    except NightjarError as error:
        yield Finding("data", "failed", f"{error.where}: {error.what}", error.fix)
        return
    for need in needed:
        kind = "data" if need.source.startswith(f"{paths.DATA}/") else "models"
        if need.state == "missing":
            absent.add(kind)
            yield Finding(kind, "failed", str(need), need.fix)
        elif need.state == "incomplete":
            absent.add(kind)
            yield Finding(kind, "warning", str(need), need.fix)
        elif need.state == "to download":
            absent.add(kind)
            yield Finding(kind, "warning", f"{need.source} is downloaded by the first rebuild")
    for kind in ("data", "models"):
        if kind not in absent:
            yield Finding(kind, "ok", f"all that {', '.join(targets) or PARAMS_FILE} needs is there")


def _gpu() -> Iterator[Finding]:
    program = shutil.which("nvidia-smi")
    if program is None:
        yield Finding("GPU", "ok", "none: stages run on the processor")
        return
    try:
        done = subprocess.run([program, "-L"], capture_output=True, text=True, timeout=3)
        devices = [line.split(" (")[0] for line in done.stdout.splitlines() if line.startswith("GPU")]
    except subprocess.TimeoutExpired:
        devices = []
    if devices:
        yield Finding("GPU", "ok", "; ".join(devices))
    else:
        yield Finding("GPU", "warning", "the driver shows none", "see what nvidia-smi says")


def _memory() -> Iterator[Finding]:
    import psutil

    free = psutil.virtual_memory().available
    yield _room("memory", free, MEMORY_GB, "set rebuild.jobs to 1, or end other programs")


def _disk() -> Iterator[Finding]:
    free = shutil.disk_usage(Path()).free
    yield _room("disk", free, DISK_GB, "free some; dvc gc --workspace removes old versions")


def _room(check: str, free: int, needed: int, fix: str) -> Finding:
    gigabytes = free / 1024**3
    if gigabytes < needed:
        return Finding(check, "warning", f"{gigabytes:.1f} GB free, the sample needs {needed} GB", fix)
    return Finding(check, "ok", f"{gigabytes:.0f} GB free")


def ports(port: int = PORT) -> Iterator[Finding]:
    """Yield whether the port of the Prefect server is free, or used by that server."""
    with socket.socket() as probe:
        probe.settimeout(1)
        taken = probe.connect_ex(("127.0.0.1", port)) == 0
    has_server = paths.SERVER.exists()
    if taken and not has_server:
        fix = "nightjar ui --port names another"
        yield Finding("ports", "warning", f"another program listens on {port}", fix)
    else:
        yield Finding("ports", "ok", f"{port} is {'that of the server of this project' if taken else 'free'}")
