"""Running texts: articles of WikiText, and documents that were held out; no text is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightjar.benchmarks.question import Record
from nightjar.benchmarks.tool_use.running_text import load_held_out, load_wikitext
from nightjar.core.errors import NightjarError
from tests.nightjar.benchmarks.dataset_files import kept, put, put_lines, reasons

TOKENS = " \n = Ann Lee = \n \n Ann <unk> was 3 @.@ 5 . \n = = Life = = \n x = y = 3 . \n = A = \n text\n"


def test_articles_begin_at_their_titles(tmp_path: Path) -> None:
    put(tmp_path, "wikitext/wiki.valid.tokens", TOKENS)
    file = "wikitext/wiki.valid.tokens"
    first = " = Ann Lee = \n \n Ann <unk> was 3 @.@ 5 . \n = = Life = = \n x = y = 3 . \n"
    assert list(load_wikitext(tmp_path)) == [
        Record("wikitext", "wiki.valid-0001", file, {"title": "Ann Lee"}, (first,)),
        Record("wikitext", "wiki.valid-0002", file, {"title": "A"}, (" = A = \n text\n",)),
    ]


@pytest.mark.parametrize(
    "content", ["plain text\nof two lines", "before\n = T = \nafter\n", " = T = \n", TOKENS]
)
def test_no_text_is_lost(tmp_path: Path, content: str) -> None:
    put(tmp_path, "wikitext/plain.txt", content)
    rows = kept(list(load_wikitext(tmp_path)))
    assert "".join(it.references[0] for it in rows).split() == content.split()
    assert "".join(it.references[0] for it in rows) == content.removeprefix(" \n")


def test_validated_out_documents(tmp_path: Path) -> None:
    put_lines(
        tmp_path,
        "held_out/a.jsonl",
        {"id": "d", "text": "one ", "title": "T", "url": "u"},
        {"id": "e", "text": " "},
    )
    put(tmp_path, "held_out/whole.txt", "two\n")
    put(tmp_path, "held_out/d.txt", "three")
    rows = list(load_held_out(tmp_path))
    assert kept(rows) == [
        Record("held_out", "d", "held_out/a.jsonl", {"title": "T"}, ("one ",)),
        Record("held_out", "whole", "held_out/whole.txt", {"title": "whole"}, ("two\n",)),
    ]
    assert reasons(rows) == ["text is blank", "the id 'd' occurs twice"]


@pytest.mark.parametrize("load", [load_wikitext, load_held_out])
def test_no_files_and_files_that_are_not_utf_8(tmp_path: Path, load: object) -> None:
    for name in ("wikitext", "held_out"):
        (tmp_path / name).mkdir()
    with pytest.raises(NightjarError, match="no files"):
        list(load(tmp_path))  # type: ignore[operator]
    for name in ("wikitext", "held_out"):
        (tmp_path / name / "t.txt").write_bytes(b"caf\xe9")
    with pytest.raises(NightjarError, match="not UTF-8 at byte 3"):
        list(load(tmp_path))  # type: ignore[operator]


def test_the_published_files(tmp_path: Path, real_data: Path) -> None:
    source = real_data / "corpora" / "wikitext-2"
    (tmp_path / "wikitext").symlink_to(source)
    rows = kept(list(load_wikitext(tmp_path)))
    for name, articles in (("valid", 60), ("test", 60)):
        mine = [it for it in rows if it.id.startswith(name)]
        assert (
            "".join(it.references[0] for it in mine).strip()
            == (source / f"{name}.txt").read_text("utf-8").strip()
        )
        assert abs(len(mine) - articles) <= 3, len(mine)
