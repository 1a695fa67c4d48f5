"""The report under /report/: its own files and those that DVC linked to its cache, and nothing else."""

from __future__ import annotations

import contextlib
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
    with contextlib.chdir(root):
        return TestClient(Starlette(routes=[Route("/{path:path}", report_page)])).get(path)


def get(root: Path, path: str) -> tuple[int, str]:
    answer = ask(root, path)
    return answer.status_code, answer.text


def report(root: Path, page: str | None = "the report") -> Path:
    folder = root / "data" / "report"
    folder.mkdir(parents=True)
    if page is not None:
        (folder / "index.html").write_text(page)
    return folder


def test_without_a_report_the_answer_says_how_to_make_one_and_once_there_it_is_shown(root: Path) -> None:
    for path in ("/", "/index.html", "/other.html"):
        answer = ask(root, path)
        assert (answer.status_code, answer.text.count("\n")) == (404, 1)
        assert "nightjar rebuild" in answer.text
        assert answer.headers["content-type"].startswith("text/plain")
    report(root)
    assert get(root, "/") == (200, "the report")
    status, text = get(root, "/other.html")
    assert status == 404 and text == "no such file in data/report\n"


def test_a_folder_without_a_page_and_a_file_in_its_place_are_no_report(root: Path) -> None:
    report(root, None).rmdir()
    (root / "data" / "report").write_text("a file")
    assert get(root, "/")[0] == 404
    assert get(root, "/index.html")[0] == 404


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


def test_numbers_of_plots_are_handed_out_as_csv(root: Path) -> None:
    (report(root) / "calls.csv").write_text("tool,calls\n")
    answer = ask(root, "/calls.csv")
    assert (answer.text, answer.headers["content-type"].split(";")[0]) == ("tool,calls\n", "text/csv")


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
    for path in (
        "file.html",
        "own.html",
        "folder/secret.html",
        "loop",
        "cached.html",
        "%2e%2e/%2e%2e/params.yaml",
    ):
        status, text = get(root, f"/{path}")
        assert (status, SECRET in text) == (404, False), path
    assert get(root, "/")[0] == 200


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


def test_a_broken_configuration_of_dvc_hides_links_only(root: Path) -> None:
    folder = report(root)
    (root / ".dvc" / "config").write_text("[cache\n")
    (folder / "file.html").symlink_to(root.parent / "secret.html")
    assert get(root, "/")[0] == 200
    assert get(root, "/file.html")[0] == 404
