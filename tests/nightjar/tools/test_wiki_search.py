"""Search as a tool: the best passage by rank_bm25 that the text itself does not contain."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from nightjar.core import contracts, tables
from nightjar.core.errors import NightjarError
from nightjar.search.lexical import LexicalIndex
from nightjar.search.words import words
from nightjar.tools import Call, Toolbox, ToolRequest, make, passage_store
from nightjar.tools.passage_store import PassageSearch
from nightjar.tools.wiki_search import SNIPPET_WORDS, WikiSearch, snippet

PASSAGES = [
    ("Pens", "A box holds 12 pens."),
    ("", "Boxes of pens and pencils are sold here."),
    ("Harbour", "The harbour museum opened in 1994."),
    ("Harbour", "Boats lie in the harbour."),
]


def index(folder: Path, passages: list[tuple[str, str]] = PASSAGES) -> Path:
    """An index of these passages, a run of equal titles a document."""
    with tables.ArtifactWriter(folder) as writer:
        rows = [
            {"passage": n, "document_id": title or f"d{n}", "title": title, "text": text, "start": 0}
            for n, (title, text) in enumerate(passages)
        ]
        writer.write(contracts.PASSAGES, rows)
        LexicalIndex.write((f"{title}\n{text}" for title, text in passages), writer.folder("lexical"))
    return folder


def corpus(folder: Path, passages: Sequence[tuple[str, str]] = PASSAGES) -> Path:
    named: dict[str, Any] = {name: None for name in contracts.DOCUMENTS.schema.names}
    named |= {"dataset": "corpus", "file": "corpus.jsonl", "url": ""}
    with tables.ArtifactWriter(folder) as writer:
        rows = [{"id": f"d{n}", "title": title, "text": text} for n, (title, text) in enumerate(passages)]
        writer.write(contracts.DOCUMENTS, [named | row for row in rows])
    return folder


@pytest.mark.parametrize("make_resource", [index, corpus])
def test_results_by_hand(tmp_path: Path, make_resource: Any) -> None:
    tool = make("wiki_search", make_resource(tmp_path / "resource"))
    asked = [
        ToolRequest("museum"),
        ToolRequest("pens pencils"),
        ToolRequest("nothing like it"),
        ToolRequest(""),
    ]
    assert tool.run(asked) == [
        "Harbour > The harbour museum opened in 1994.",
        "Boxes of pens and pencils are sold here.",
        None,
        None,
    ]
    # A document does not find itself.
    own = ToolRequest("harbour museum", text="Yesterday. The harbour museum opened in 1994. It was full.")
    assert tool.run([own]) == ["Harbour > Boats lie in the harbour."]
    toolbox = Toolbox([tool])
    assert toolbox.run([Call("WikiSearch", "harbour museum")], text=own.text) == tool.run([own])
    assert toolbox.run([Call("WikiSearch", "harbour museum")]) == tool.run([ToolRequest("harbour museum")])


TEXTS = st.lists(st.text(st.sampled_from("abc "), min_size=1, max_size=8), min_size=1, max_size=30)


@given(TEXTS, st.text(st.sampled_from("abcd "), max_size=6), st.text(st.sampled_from("abc "), max_size=30))
def test_the_first_of_the_whole_ranking_that_is_not_contained(
    texts: list[str], query: str, text: str
) -> None:
    tokens = [words(f"\n{one}") for one in texts]
    if not any(tokens):
        return
    scores = BM25Okapi(tokens).get_scores(words(query)).round(9)
    candidates = [n for n in range(len(texts)) if set(words(query)) & set(tokens[n]) and texts[n] not in text]
    wanted = min(candidates, key=lambda n: (-scores[n], n), default=None)
    documents = [str(number) for number in range(len(texts))]
    table = pa.table({"document_id": documents, "title": [""] * len(texts), "text": texts})
    index = LexicalIndex.build(f"\n{one}" for one in texts)
    tool = WikiSearch(PassageSearch(table, index, "1"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passage_store, "DEPTH", 2)
        found = tool.run([ToolRequest(query, text=text)])
    assert found == [None if wanted is None else snippet("", texts[wanted])]


def test_a_snippet_is_one_short_line() -> None:
    assert snippet("A  title\n", "two\nwords ") == "A title > two words"
    assert snippet("", "two words") == "two words"
    long = snippet("T", "word " * 500)
    assert long.split(" > ")[1].split() == ["word"] * SNIPPET_WORDS


@pytest.mark.parametrize("make_resource", [index, corpus])
def test_an_answer_below_the_lead_is_found(tmp_path: Path, make_resource: Any) -> None:
    """The article is cut into passages; of its passage the part with the words of the query is shown."""
    lead, rest = ["lead"] * 250, ["The", "lighthouse", "keeper", "of", "Skerry", "was", "Ada", "Brock."]
    article = [*lead, *rest, *["more"] * 300]
    cut = [" ".join(article[start : start + 100]) for start in range(0, len(article), 100)]
    given = cut if make_resource is index else [" ".join(article)]
    tool = make(
        "wiki_search", make_resource(tmp_path / "x", [("Skerry", text) for text in [*given, "Other"]])
    )
    assert "keeper of Skerry was Ada Brock." in str(tool.run([ToolRequest("lighthouse keeper")]))


@pytest.mark.parametrize("make_resource", [index, corpus])
def test_of_the_first_document_the_passage_with_the_words_that_its_title_lacks(
    tmp_path: Path, make_resource: Any
) -> None:
    """BM25 alone prefers the short end of the article, which has its title and little else."""
    rest = " ".join(["He", "wrote", "a", "book", "on", "tides."] * 17)[: -len(" tides.")]
    lead, end = f"Ada Brock (born in Norwood) was a painter. {rest}", "In the end."
    article = f"{' '.join(lead.split()[:100])} {end}"
    given = [" ".join(article.split()[:100]), end] if make_resource is index else [article]
    tool = make("wiki_search", make_resource(tmp_path / "x", [("Ada Brock", text) for text in given]))
    assert "born in Norwood" in str(tool.run([ToolRequest("Ada Brock was born in")]))
    assert "born in Norwood" in str(
        tool.run([ToolRequest("birthplace of Ada Brock")])
    )  # equal: the earlier one
    assert tool.run([ToolRequest("Ada Brock in the end")]) == ["Ada Brock > In the end."]


def test_the_version_follows_what_is_searched(tmp_path: Path) -> None:
    first = make("wiki_search", index(tmp_path / "a"))
    assert first.version == make("wiki_search", index(tmp_path / "b")).version
    assert first.version != make("wiki_search", index(tmp_path / "c", PASSAGES[:3])).version


def test_a_resource_that_is_missing_or_damaged_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(NightjarError, match="no lexical index"):
        make("wiki_search", tmp_path / "nowhere")
    folder = index(tmp_path / "index")
    LexicalIndex.write(["only one"], folder / "lexical")
    with pytest.raises(NightjarError, match="4 passages, but 1 of them indexed"):
        make("wiki_search", folder)


def test_the_evidence_of_real_facts_is_found(real_data: Path, tmp_path: Path) -> None:
    """The snippets of Google-RE are the corpus; the place of birth of a person is searched by name."""
    file = real_data / "tool-benchmarks/lama/Google_RE/place_of_birth_test.jsonl"
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    evidence = [(row["sub_label"], row["evidences"][0]["snippet"]) for row in rows]
    tool = make("wiki_search", corpus(tmp_path / "corpus", evidence))
    asked = rows[:300]
    results = tool.run([ToolRequest(f"{row['sub_label']} was born in") for row in asked])
    # Measured 296 and 295, and where nothing is cut 292 and 291: several people have one name.
    named = sum(
        str(found).startswith(f"{row['sub_label']} > ") for row, found in zip(asked, results, strict=True)
    )
    answered = sum(row["obj_label"] in str(found) for row, found in zip(asked, results, strict=True))
    assert named >= 296
    assert answered >= 295
    assert all(found and "\n" not in found and len(found.split()) < 60 for found in results)
