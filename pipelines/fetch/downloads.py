"""Fetch a part of a published data set into data/fetched/DATASET, checked, with a record of where it comes from."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from nightjar.core import paths
from nightjar.core.errors import NightjarError
from nightjar.core.files import check_input, own_folder, remove, replacing, write_text
from nightjar.core.identity import digest, sha256_of
from nightjar.core.json_text import is_text
from pipelines.fetch.sources import (
    FETCHED,
    UNKNOWN,
    Content,
    FetchedVersion,
    FetchRecord,
    Named,
    PublishedSource,
    checksums,
    record_of,
    records,
)
from pipelines.fetch.transfer import Progress, checkout, download, is_regular, place, unpack
from pipelines.process.lock import rebuild_lock

# Transfers that are not complete; Git and DVC ignore the folder.
PARTIAL = paths.OWN / "fetch"
# Two fetches would write the same partial file.
LOCK = paths.OWN / "fetch.lock"
# A file may have so many times the bytes of the table: an archive is packed.
LIMIT = 12
_MEGABYTE = 2**20


def folder_of(part: Named) -> str:
    return (FETCHED / part.dataset).as_posix()


def is_versioned(root: Path, dataset: str) -> bool:
    """Return whether DVC has the data set since its last fetch."""
    file, record = root / FETCHED / f"{dataset}.dvc", root / record_of(dataset)
    return file.exists() and file.stat().st_mtime >= record.stat().st_mtime


def is_there(root: Path, part: Named) -> bool:
    """Return whether a part was fetched from what the table names, and all its files are there.

    Raises NightjarError for a file that differs.
    """
    record = records(root, part.dataset).get(part.part)
    if record is None:
        return False
    folder = root / FETCHED / part.dataset
    present = [name for name in record.files if (folder / name).exists()]
    for name in present:
        check_input(folder / name)
        if sha256_of(folder / name) != record.files[name].sha256:
            fix = "restore it, or delete it and run the command again"
            raise NightjarError(f"differs from the file that was fetched for {part}", folder / name, fix)
    fetched = [(origin.address, origin.version) for origin in record.sources]
    named = [(source.address, source.fixed) for source in part.about.sources]
    same = len(fetched) == len(named) and all(
        old[0] == new[0] and new[1] in (None, old[1]) for old, new in zip(fetched, named, strict=True)
    )
    return same and len(present) == len(record.files)


def fetch(root: Path, part: Named, progress: Progress) -> None:
    """Fetch a part, whether or not it is there: its files take their places when all of them are there and right.

    Raises NightjarError for a disk that is too small, a transfer that fails, a file that is missing or has another
    sha256, and one in the place of a file that is neither that nor what was fetched before. Then nothing of the part
    has changed, and what was transferred is kept for the next attempt.
    """
    own_folder(root)
    work = root / PARTIAL / digest({"part": part.about.model_dump(mode="json")})
    ready = work / "files"
    remove(ready)
    ready.mkdir(parents=True)
    _check_room(work, part)
    earlier = records(root, part.dataset)
    before = earlier.get(part.part)
    origins = before.sources if before else []
    versions = []
    for number, source in enumerate(part.about.sources):
        # By its place: a part may have two revisions of one repository.
        same = number < len(origins) and origins[number].address == source.address
        earlier_version = origins[number].version if same else None
        version = _get(source, work / str(number), ready, part, earlier_version, progress)
        versions.append(FetchedVersion(address=source.address, version=version))
    names = sorted(path.relative_to(ready).as_posix() for path in ready.rglob("*") if path.is_file())
    _check(part, names, ready)
    files = {
        name: Content(sha256=sha256_of(ready / name), bytes=(ready / name).stat().st_size) for name in names
    }
    target = root / FETCHED / part.dataset
    for name in names:
        published = [files[name], before.files.get(name, files[name]) if before else files[name]]
        if (target / name).exists():
            check_input(target / name)
            if sha256_of(target / name) not in [content.sha256 for content in published]:
                what = f"is not the published file of {part}"
                raise NightjarError(what, target / name, "move it away, and run the command again")
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        with replacing(target / name) as temporary:  # data/fetched may be on another disk
            shutil.move(ready / name, temporary)
    record = FetchRecord(
        licence=part.about.licence, citation=part.about.citation, sources=versions, files=files
    )
    values = {name: one.model_dump() for name, one in (earlier | {part.part: record}).items()}
    write_text(root / record_of(part.dataset), json.dumps(values, indent=1, sort_keys=True) + "\n")
    remove(work)


def _check_room(work: Path, part: Named) -> None:
    done = sum(file.stat().st_size for file in work.rglob("*") if file.is_file())
    free = shutil.disk_usage(work).free
    if free + done < part.about.megabytes * _MEGABYTE:
        what = f"about {part.about.megabytes} MB are transferred, and {free // _MEGABYTE} MB are free"
        raise NightjarError(what, str(part), "free some space, and run the command again")


def _get(
    source: PublishedSource, work: Path, ready: Path, part: Named, earlier: str | None, progress: Progress
) -> str:
    """Put the files of a source into `ready`; the commit or the sha256 that it has. `earlier`: what it had before."""
    if source.git:
        remove(work)
        revision = earlier if source.revision == UNKNOWN else source.revision
        commit = checkout(source.git, revision, source.files, work, ready)
        remove(work)
        return commit
    work.mkdir(exist_ok=True)
    url = str(source.url)
    file = work / url.rsplit("/", 1)[-1]
    byte_limit = part.about.megabytes * _MEGABYTE * LIMIT
    # Of an earlier attempt: the sha256 that the file had when its transfer was complete.
    proof = file.with_name(f"{file.name}.sha256")
    actual = sha256_of(file) if is_regular(file) and is_regular(proof) else ""
    if not actual or proof.read_bytes() != actual.encode():
        remove(proof)
        remove(file)
        download(url, file, byte_limit, progress)
        actual = sha256_of(file)
        write_text(proof, actual)
    expected = (earlier or UNKNOWN) if source.sha256 == UNKNOWN else source.sha256
    if expected not in (actual, UNKNOWN):
        file.unlink()
        fix = "the publisher may have changed it; compare its page with the table of sources"
        raise NightjarError(f"the sha256 is {actual}, not {expected}", url, fix)
    if alone := place(file.name, source.files):
        (ready / alone).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, ready / alone)
        return actual
    try:
        unpack(file, source.files, ready, byte_limit)
    except NightjarError as error:
        file.unlink()
        raise NightjarError(error.what, url, error.fix) from None
    return actual


def _check(part: Named, names: list[str], ready: Path) -> None:
    """Raise NightjarError for a file of the table that is missing, and for one with another sha256 than is known."""
    for source in part.about.sources:
        for pattern, target in source.files.items():
            file_pattern = target if not target.endswith("/") else str(Path(target) / Path(pattern).name)
            if not any(Path(name).match(file_pattern) for name in names):
                fix = "the publisher may have moved it; fetch it by hand"
                raise NightjarError(f"has no file {pattern}", source.address, fix)
    for name in names:
        if not is_text(name):  # the record could not have it
            raise NightjarError(f"the name of {name!r} is not UTF-8", str(part), "fetch it by hand")
        expected = checksums().get(f"{part.dataset}/{name}")
        if expected and expected != sha256_of(ready / name):
            fix = "the publisher may have changed it; compare its page with the table of sources"
            raise NightjarError(f"the sha256 of {name} is not {expected}", str(part), fix)


def add_to_dvc(root: Path, datasets: Iterable[str]) -> None:
    """Version the folders of data sets with DVC, where the project at `root` has it. Raises NightjarError."""
    if not (root / ".dvc").is_dir():
        return
    names = [(FETCHED / dataset).as_posix() for dataset in datasets]
    with rebuild_lock(root, fix="wait for it, and run the command again"):
        done = subprocess.run(
            [sys.executable, "-m", "dvc", "add", *names], cwd=root, capture_output=True, text=True
        )
    if done.returncode:
        last = (done.stderr.strip() or "dvc add failed").splitlines()[-1]
        raise NightjarError(last, FETCHED, "the files are there; add them with dvc add")
