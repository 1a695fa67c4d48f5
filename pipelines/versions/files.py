"""Where the files of an artifact lie in a version of the project: in the workspace, or in DVC's cache as the
dvc.lock of a Git revision tells. Nothing is checked out.

Works in any DVC repository: dvc.lock files and .dvc files anywhere in it, directories as DVC's .dir objects, caches
in another place, and the cache of DVC 2.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from nightjar.core.errors import NightjarError
from nightjar.core.files import FOLDER, check_input
from nightjar.core.json_text import parse
from pipelines.project.git import try_git

WORKSPACE = "workspace"
Tree = Mapping[str, Any]


@dataclass
class File:
    """One file of an artifact. `known` is its md5 as DVC wrote it down, None in the workspace."""

    name: str
    place: Path
    known: str | None
    size: int | None
    version: Version = field(repr=False)

    @cached_property
    def md5(self) -> str:
        """The md5 of the bytes; read from the file only where DVC has not told it."""
        if self.known is not None:
            return self.known
        with self.place.open("rb") as stream:
            return hashlib.file_digest(stream, "md5").hexdigest()

    def same(self, other: File) -> bool:
        """Whether both have the same bytes. Reads a workspace's file only if the sizes do not tell."""
        if self.known is not None and other.known is not None:
            return self.known == other.known
        sizes = (self.length(), other.length())
        if None not in sizes and sizes[0] != sizes[1]:
            return False
        return self.md5 == other.md5

    def length(self) -> int | None:
        """Bytes, where they are known without reading: DVC's directory objects do not tell them."""
        if self.size is None and self.place.is_file():
            self.size = self.place.stat().st_size
        return self.size

    def is_here(self) -> bool:
        """Whether the bytes are on this machine, in the cache or else in Git."""
        return self.place.is_file() or self.version.git_has(self.name)

    def content(self) -> Path | bytes:
        """Where to read the file; its bytes if only Git has them. Raises NightjarError if nobody has."""
        if self.place.is_file():
            return self.place
        data = self.version.git_bytes(self.name)
        if data is None:
            raise self.version.missing([self.name])
        return data


@dataclass
class Version:
    """An artifact as it is in one version of the project: its files by their paths within it.

    `digest` is what DVC calls the artifact's hash; None where several outputs lie under the path, and in the
    workspace. `there` is False where the version has no such artifact.
    """

    root: Path
    revision: str
    commit: str | None
    artifact: str
    experiment: bool = False
    digest: str | None = None
    files: dict[str, File] = field(default_factory=dict)
    outs: dict[str, Tree] = field(default_factory=dict, repr=False)

    @property
    def there(self) -> bool:
        return bool(self.files) or self.digest is not None

    def missing(self, names: list[str]) -> NightjarError:
        """What to say when objects are not in the local cache."""
        first = "/".join(part for part in (self.artifact, names[0]) if part)
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        if self.experiment:
            fix = f"get it with: dvc exp pull origin {self.revision}"
        elif self.commit is None or self.commit == _commit(self.root, "HEAD"):
            fix = f"get it with: dvc fetch {self.artifact}"
        else:
            fix = f"get it with: dvc fetch --all-commits {self.artifact}"
        return NightjarError(f"not in the local cache: {first}{more}", self.revision, fix)

    @property
    def made(self) -> bool:
        """Whether the path is an output, lies in one, or has one in it."""
        return any(
            _within(self.artifact, path) is not None or _within(path, self.artifact) is not None
            for path in self.outs
        )

    @property
    def locked(self) -> bool:
        """Whether the version has a dvc.lock at its root."""
        if self.commit is None:
            return (self.root / "dvc.lock").is_file()
        return try_git(self.root, "cat-file", "-e", f"{self.commit}:./dvc.lock") is not None

    @property
    def tracked(self) -> bool:
        """Whether Git itself keeps the path in this version."""
        if self.commit is None:
            return bool(try_git(self.root, "--literal-pathspecs", "ls-files", "--", self.artifact))
        return self.git_has("")

    def git_has(self, name: str) -> bool:
        return self._git("cat-file", "-e", name) is not None

    def git_bytes(self, name: str) -> bytes | None:
        """The file's bytes where Git itself keeps it (an output with cache: false), else None."""
        return self._git("cat-file", "blob", name)

    def _git(self, verb: str, option: str, name: str) -> bytes | None:
        if self.commit is None:
            return None
        path = "/".join(part for part in (self.artifact, name) if part)
        return try_git(self.root, verb, option, f"{self.commit}:./{path}")


def find_root(start: Path) -> Path:
    """The DVC repository that `start` lies in. Raises NightjarError if there is none."""
    for folder in (start, *start.parents):
        if (folder / ".dvc").is_dir():
            return folder
    raise NightjarError("not a DVC repository", start, "run from the project's root")


def read(root: Path, revision: str, artifact: str) -> Version:
    """The files of `artifact`, a path from the root, in `revision`: a branch, tag, commit, the name or reference
    of an experiment, or the word `workspace`.

    Raises NightjarError for an unknown revision, for a dvc.lock that cannot be read, and for a directory whose
    object is not in the local cache. An artifact that is not there has no files.
    """
    artifact = PurePosixPath(artifact).as_posix()
    artifact = "" if artifact == "." else artifact
    if revision == WORKSPACE:
        version = Version(root, WORKSPACE, None, artifact)
        version.outs = dict(_outs(_workspace_texts(root)))
        _read_workspace(version)
        return version
    commit, experiment = _resolve(root, revision)
    version = Version(root, revision, commit, artifact, experiment)
    version.outs = dict(_outs(_committed_texts(root, commit)))
    cache = cache_dir(root)
    for path, out in version.outs.items():
        inside = _within(artifact, path)
        above = _within(path, artifact)
        if inside is None and above is None:
            continue
        _add_out(version, cache, out, prefix=inside or "", below=above or "")
    return version


def _add_out(version: Version, cache: Path, out: Tree, prefix: str, below: str) -> None:
    """Take in the files of one output: it lies at `prefix` within the artifact, or holds it at `below`."""
    digest = out.get("md5")
    entries: list[Tree]
    if isinstance(out.get("files"), list):
        entries = out["files"]
    elif not digest:
        kind = out.get("hash") or "no hash"
        raise NightjarError(f"DVC tells {kind} of it, not md5", version.revision, "compare it by hand")
    elif not str(digest).endswith(".dir"):
        if below:
            return
        entries = [{"relpath": "", "md5": digest, "size": out.get("size")}]
    else:
        entries = _listing(version, object_path(cache, str(digest)), str(out["path"]))
    if not prefix and not below:
        version.digest = str(digest) if digest else None
    for entry in entries:
        name = str(entry["relpath"])
        if below:
            inside = _within(below, name)
            if inside is None:
                continue
            name = inside
        elif prefix:
            name = f"{prefix}/{name}" if name else prefix
        md5 = str(entry["md5"])
        version.files[name] = File(name, object_path(cache, md5), md5, entry.get("size"), version)


def _listing(version: Version, place: Path, path: str) -> list[Tree]:
    try:
        entries: Any = parse(place.read_bytes())
    except FileNotFoundError:
        raise version.missing([""]) from None
    except ValueError:
        entries = None
    names = ("relpath", "md5")
    if not isinstance(entries, list) or not all(
        isinstance(it, dict) and all(isinstance(it.get(name), str) for name in names) for it in entries
    ):
        raise NightjarError(f"the listing of {path} is broken", place, "remove it and run dvc fetch")
    return entries


def _read_workspace(version: Version) -> None:
    """What lies on the disk now: of the whole path if it is an output or within one, else of the outputs in it."""
    root, artifact = version.root, version.artifact
    inside = [path for path in version.outs if _within(artifact, path)]
    holds = any(_within(path, artifact) is not None for path in version.outs)
    for path in [artifact] if holds or not inside else inside:
        prefix = _within(artifact, path) or ""
        for name, place in _walk(root / path):
            full = "/".join(part for part in (prefix, name) if part)
            version.files[full] = File(full, place, None, None, version)


def _walk(place: Path) -> Iterator[tuple[str, Path]]:
    """The files at or under `place`, without what DVC and unfinished writers put beside them.

    Raises NightjarError for a pipe, a device or a broken link among them.
    """
    check_input(place, FOLDER)
    if place.is_file():
        yield "", place
        return
    for folder, folders, names in os.walk(place, followlinks=True):
        folders[:] = sorted(name for name in folders if ".tmp-" not in name)
        for name in sorted(names):
            if name != ".gitignore" and ".tmp-" not in name:
                file = Path(folder, name)
                check_input(file)
                yield file.relative_to(place).as_posix(), file


def _within(outer: str, inner: str) -> str | None:
    """`inner` as a path from `outer`, "" if they are the same; None if it lies elsewhere."""
    if outer in ("", inner):
        return "" if outer == inner else inner
    return inner[len(outer) + 1 :] if inner.startswith(f"{outer}/") else None


def object_path(cache: Path, digest: str) -> Path:
    """Where DVC's cache has an object; DVC 2 kept it one folder higher."""
    place = cache / "files" / "md5" / digest[:2] / digest[2:]
    old = cache / digest[:2] / digest[2:]
    return old if not place.exists() and old.exists() else place


def cache_dir(root: Path) -> Path:
    """The local cache of the repository, by all levels of DVC's configuration."""
    from dvc.config import Config, ConfigError

    try:
        told = Config(str(root / ".dvc")).get("cache", {}).get("dir")
    except ConfigError as error:
        raise NightjarError(str(error), root / ".dvc/config", "mend it") from None
    return Path(told) if told else root / ".dvc" / "cache"


def _outs(texts: Iterable[tuple[str, str]]) -> Iterator[tuple[str, Tree]]:
    """Every output, by its path from the root, of the dvc.lock and .dvc files given as (path, text)."""
    known = dict(texts)
    for file, text in known.items():
        folder = PurePosixPath(file).parent
        if PurePosixPath(file).name == "dvc.yaml":
            continue
        content = _yaml(text, file)
        if file.endswith(".dvc"):
            entries = [(str(content.get("wdir") or "."), content)]
        else:
            folders = _folders(_yaml(known.get((folder / "dvc.yaml").as_posix(), ""), file))
            stages = content.get("stages") or {}
            entries = [(folders.get(name.split("@")[0], "."), entry) for name, entry in stages.items()]
        for wdir, entry in entries:
            for out in entry.get("outs") or ():
                path = os.path.normpath(folder / wdir / str(out.get("path")))
                yield Path(path).as_posix(), out


def _folders(content: Tree) -> dict[str, str]:
    """The working folders that a dvc.yaml gives to its stages; outputs are told from there."""
    stages = content.get("stages") or {}
    bodies = {name: entry.get("do", entry) for name, entry in stages.items() if isinstance(entry, dict)}
    return {name: str(body["wdir"]) for name, body in bodies.items() if body.get("wdir")}


def _yaml(text: str, where: object) -> dict[str, Any]:
    from nightjar.core.config import parse as parse_yaml

    value = parse_yaml(text, where, aliases=True, pure=False, longest=len(text))
    return value if isinstance(value, dict) else {}


def _is_dvc_file(path: str) -> bool:
    name = PurePosixPath(path).name
    return name in ("dvc.lock", "dvc.yaml") or (name.endswith(".dvc") and name != ".dvc")


def _workspace_texts(root: Path) -> Iterator[tuple[str, str]]:
    listed = try_git(root, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    names = {"dvc.lock", "dvc.yaml"} | set(_lines(listed) if listed is not None else ())
    for name in sorted(filter(_is_dvc_file, names)):
        if (root / name).is_file():
            yield name, (root / name).read_text(encoding="utf-8")


def _committed_texts(root: Path, commit: str) -> Iterator[tuple[str, str]]:
    listed = try_git(root, "ls-tree", "-r", "--name-only", "-z", commit) or b""
    for name in filter(_is_dvc_file, _lines(listed)):
        yield (
            name,
            (try_git(root, "cat-file", "blob", f"{commit}:./{name}") or b"").decode("utf-8", "replace"),
        )


def _lines(listed: bytes) -> list[str]:
    return [os.fsdecode(name) for name in listed.split(b"\0") if name]


def _commit(root: Path, name: str) -> str | None:
    """The one commit that a revision means; None for anything else, such as ^HEAD, which means all but that one."""
    told = try_git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    commit = (told or b"").decode("ascii", "replace").strip()
    return commit if re.fullmatch(r"[0-9a-f]{40,64}", commit) else None


def _resolve(root: Path, revision: str) -> tuple[str, bool]:
    """The commit of a revision, and whether it is an experiment's. An experiment may be named without its path."""
    if commit := _commit(root, revision):
        return commit, revision.startswith("refs/exps/")
    listed = (try_git(root, "for-each-ref", "--format=%(refname)", "refs/exps") or b"").decode().split()
    found = [name for name in listed if name.count("/") >= 4 and name.split("/", 4)[4] == revision]
    if len(found) == 1 and (commit := _commit(root, found[0])):
        return commit, True
    if found:
        raise NightjarError("several experiments have that name", revision, f"give one as {found[0]}")
    raise NightjarError("no such revision", revision, "give a branch, tag, commit, experiment or `workspace`")
