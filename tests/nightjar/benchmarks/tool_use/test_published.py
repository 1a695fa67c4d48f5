"""The results on the card, against the paper's tables: their lines as they are there, systems in the same order."""

from __future__ import annotations

from nightjar.benchmarks import registry

SYSTEMS = ("GPT-J", "GPT-J + CC", "Toolformer (disabled)", "Toolformer", "OPT (66B)", "GPT-3 (175B)")
# Tracks, and a line of the paper's tables.
LINES = {
    ("lama_squad", "lama_google_re", "lama_trex"):
        "17.8/4.9/31.9; 19.2/5.6/33.2; 22.1/6.3/34.9; 33.8/11.5/53.5; 21.6/2.9/30.1; 26.8/7.0/39.8",
    ("asdiv", "svamp", "mawps"):
        "7.5/5.2/9.9; 9.6/5.0/9.3; 14.8/6.3/15.0; 40.4/29.4/44.0; 6.0/4.9/7.9; 14.0/10.0/19.8",
    ("web_questions", "natural_questions", "trivia_qa"):
        "18.5/12.8/43.9; 18.4/12.2/45.6; 18.9/12.6/46.7; 26.3/17.7/48.8; 18.6/11.4/45.7; 29.0/22.6/65.9",
    ("mlqa_es", "mlqa_de", "mlqa_hi", "mlqa_vi", "mlqa_zh", "mlqa_ar"):
        "15.2/16.5/1.3/8.2/18.2/8.2; 15.7/14.9/0.5/8.3/13.7/4.6; 19.8/11.9/1.2/10.1/15.0/3.1; "
        "20.6/13.5/1.4/10.6/16.8/3.7; 0.3/0.1/1.1/0.2/0.7/0.1; 3.4/1.1/0.1/1.7/17.7/0.1; "
        "24.3/27.0/23.9/23.3/23.1/23.6; 24.7/27.2/26.1/24.9/23.6/24.0",
    ("templama", "dateset"): "13.7/3.9; 12.9/2.9; 12.7/5.9; 16.3/27.3; 14.5/1.3; 15.5/0.8",
    ("wikitext", "held_out"): "9.9/10.6; 10.3/10.5; 10.3/10.5",
}  # fmt: skip
BY_CALL = {
    "lama_trex": "0: 34.9,-,34.9,0; 1: 47.8,53.0,44.3,40.3; 3: 52.9,58.0,29.0,82.8; 10: 53.5,54.0,22.5,98.1",
    "web_questions": "0: 18.9,-,18.9,0; 1: 19.3,17.1,19.9,8.5; 3: 26.3,26.5,6.6,99.3; 10: 26.3,26.4,-,100",
}


def test_tables_3_to_8() -> None:
    card = registry.load_benchmark("tool_use")
    for number, (tracks, line) in enumerate(LINES.items(), start=3):
        table = card.papers.tables[number - 3]
        assert table.title.startswith(f"Table {number}:") and table.tracks == tracks
        rows = [it for it in card.papers.rows if it.source == f"Schick et al. 2023, table {number}"]
        wanted = [tuple(map(float, values.split("/"))) for values in line.split("; ")]
        assert [tuple(it.values[track] for track in tracks) for it in rows] == wanted
        assert [it.system for it in rows][:6] == list(SYSTEMS[: len(wanted)])
    assert sum(len(line.split("; ")) for line in LINES.values()) == len(card.papers.rows)
    assert not any(it.average for it in card.papers.rows), "the paper prints none"


def test_table_9() -> None:
    table = registry.load_benchmark("tool_use").papers.tables[-1]
    assert table.title.startswith("Table 9") and table.tracks == tuple(BY_CALL)
    for track, line in BY_CALL.items():
        found = [it for it in table.calls if it.track == track]
        for row, it in zip(line.split("; "), found, strict=True):
            k, _, values = row.partition(": ")
            assert it.system == f"Toolformer, k = {k}"
            wanted = [None if value == "-" else float(value) for value in values.split(",")]
            assert [it.everything, it.with_call, it.without_call, it.share] == wanted
