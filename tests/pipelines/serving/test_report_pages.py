"""The report under /report/: its own files and those that DVC linked to its cache, and nothing else."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

from pipelines.serving.server_app import report_page

SECRET = "a secret of the machine"


@pytest.fixture()
def root(tmp_path: Path) -> Path:
    """A project with a DVC repository and without a report, beside a file with a secret."""
    (tmp_path / "secret.html").write_text(SECRET)
    root = tmp_path / "project"
    (root / ".dvc").mkdir(parents=True)
    return root


def ask(root: Path, path: str) -> Any:
    # As the server routes it: what is raised would be status 500.
    page = partial(report_page, root)
    return TestClient(Starlette(routes=[Route("/{path:path}", page)])).get(path)


def get(root: Path, path: str) -> tuple[int, str]:
    answer = ask(root, path)
    return answer.status_code, answer.text


def report(root: Path, page: str | None = "the report") -> Path:
    folder = root / "data" / "report"
    folder.mkdir(parents=True, exist_ok=True)
    if page is not None:
        (folder / "index.html").write_text(page)
    return folder


def test_without_a_report_the_answer_says_how_to_make_one_and_once_there_it_is_shown(root: Path) -> None:
    for path in ("/", "/index.html", "/other.html"):
        answer = ask(root, path)
        assert (answer.status_code, answer.text.count("\n")) == (404, 1)
        assert "nightjar rebuild" in answer.text
        assert answer.headers["content-type"].startswith("text/plain")
    (root / "data").mkdir()
    (root / "data" / "report").write_text("a file")
    assert get(root, "/")[0] == get(root, "/index.html")[0] == 404
    (root / "data" / "report").unlink()
    (report(root) / "calls.csv").write_text("tool,calls\n")
    assert get(root, "/") == (200, "the report")
    assert get(root, "/other.html") == (404, "no such file in data/report\n")
    answer = ask(root, "/calls.csv")
    assert (answer.text, answer.headers["content-type"].split(";")[0]) == ("tool,calls\n", "text/csv")


@pytest.mark.parametrize("place", [".dvc/cache", "../elsewhere/cache"])
def test_what_dvc_linked_to_its_cache_is_handed_out(root: Path, place: str) -> None:
    if place != ".dvc/cache":
        (root / ".dvc" / "config").write_text(f"[cache]\n    dir = ../{place}\n")
    cached = root / place / "files" / "md5" / "ab" / "cdef"
    cached.parent.mkdir(parents=True)
    cached.write_text("the report, of the cache")
    folder = report(root, None)
    (folder / "index.html").symlink_to(cached)
    (folder / "again.html").symlink_to("index.html")
    assert get(root, "/") == (200, "the report, of the cache")
    assert get(root, "/again.html") == (200, "the report, of the cache")


def test_links_out_of_the_report_are_not_followed(root: Path) -> None:
    secret = root.parent / "secret.html"
    folder = report(root)
    (root / "params.yaml").write_text(SECRET)
    (folder / "file.html").symlink_to(secret)
    (folder / "own.html").symlink_to("../../params.yaml")
    (folder / "folder").symlink_to(root.parent)
    (folder / "loop").symlink_to("loop")
    cache = root / ".dvc" / "cache" / "files" / "md5" / "ab"
    cache.mkdir(parents=True)
    (cache / "cdef").symlink_to(secret)
    (folder / "cached.html").symlink_to(cache / "cdef")
    escaped = "%2e%2e/%2e%2e/params.yaml"
    for path in ("file.html", "own.html", "folder/secret.html", "loop", "cached.html", escaped):
        status, text = get(root, f"/{path}")
        assert (status, SECRET in text) == (404, False), path
    (root / ".dvc" / "config").write_text("[cache\n")
    assert get(root, "/")[0] == 200, "a broken configuration of DVC hides links only"
    assert get(root, "/file.html")[0] == 404


def test_a_report_that_is_itself_a_link_shows_nothing_and_linked_data_do(root: Path) -> None:
    away = root.parent / "away"
    report(away)
    (root / "data").mkdir()
    (root / "data" / "report").symlink_to(away / "data" / "report")
    assert get(root, "/")[0] == 404
    (root / "data" / "report").unlink()
    (root / "data").rmdir()
    (root / "data").symlink_to(away / "data")
    assert get(root, "/") == (200, "the report")
