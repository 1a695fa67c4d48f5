"""The finished page, from a whole made-up data folder."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from nightjar.benchmarks import registry
from nightjar.core import contracts, tables
from stages.report import headline
from stages.report.read import results
from tests.in_process import run_stage
from tests.stages.report.building import ARMS, NAME, ROOT, SCORED, SYSTEMS, rewrite

VOID = {"meta", "br"}
OUT = Path("data/report")


def run() -> subprocess.CompletedProcess[str]:
    return run_stage("report")


class Page(HTMLParser):
    """Collects links and cells, and fails on a tag that does not close."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.rows: list[list[str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        values = dict(attrs)
        self.links += [str(values[key]) for key in ("href", "src") if key in values]
        self.ids.add(str(values.get("id")))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "tr" in self.open and self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


def parsed() -> Page:
    found = Page()
    found.feed((OUT / "index.html").read_text())
    assert not found.open
    return found


def test_page_is_self_contained_and_well_formed(reported: Path) -> None:
    found = parsed()
    assert all(link.startswith("#") and link[1:] in found.ids for link in found.links)
    assert not found.tags & {"script", "img", "link", "iframe", "object"}
    text = (OUT / "index.html").read_text()
    assert set(re.findall(r"https?://[^\"]*", text)) == {"http://www.w3.org/2000/svg"}
    assert "url(" not in text and "@import" not in text


def test_every_score_stands_where_it_belongs(reported: Path) -> None:
    rows: dict[str, list[str]] = {}
    for row in parsed().rows:
        if "−" not in "".join(row[1:]):  # neither a difference nor a gain
            rows.setdefault(row[0], [cell.strip() for cell in row])
    scores = {
        (row["track"], row["level"], row["name"], row["metric"], row["system"]): row
        for row in tables.read_rows(SCORED, contracts.SCORES)
    }
    for name, title, metric in (
        ("word_analogy", "Word analogy", "exact_match"),
        ("data_to_text", "Data to text", "rougeL"),
    ):
        cells = [scores["default", "category", name, metric, system] for system in SYSTEMS]
        assert rows[title][1] == {"exact_match": "exact match", "rougeL": "ROUGE-L"}[metric]
        assert {cell["low"] for cell in cells} == {None}, "16 instances"
        assert rows[title][2:] == ["16too few", *(f"{cell['value']:.1f}" for cell in cells)]
    task = [
        scores["default", "task", "task900_made_up", "exact_match", system]["value"] for system in SYSTEMS
    ]
    assert rows["task900_made_up"][3:] == [f"{value:.1f}" for value in task]


def test_markdown_tables_are_whole(reported: Path) -> None:
    text = (OUT / "report.md").read_text()
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        lines = block.splitlines()
        assert re.fullmatch(r"[|:\- ]+", lines[1]) and len(lines) > 2
        assert len({line.count("|") for line in lines}) == 1, block
    for file in re.findall(r"!\[[^]]*]\(([^)]+)\)", text):
        assert (OUT / file).is_file()
    assert "&lt;the&gt; jar" in text and "as well &#124; rain" in text
    assert "```mermaid\nflowchart TD\n" in text
    assert not re.search(r"\n{3,}", text)


def test_wrong_calls_are_shown_as_such(reported: Path) -> None:
    text = (OUT / "report.md").read_text()
    before, after = text.split("The result does not occur there: 1 of 2")
    assert "Calculator(14 &#42; 30) → 420" in before and "Calculator(18 - 45) → -27" in after
    assert "| augment@calculator | below threshold | 300 |" in text
    assert "| ingest@natural_instructions | id occurs twice | 3 |" in text


def test_texts_cannot_become_markup(project: Path) -> None:
    attack = '<img src=x onerror="alert(1)">|**'

    def change(table: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for row in rows:
            if "task_id" in row:
                row["task_id"] += attack
            elif row["level"] != "overall":
                row["name"] += attack
            if "category" in row:
                row["category"] += attack
        return rows

    rewrite(change)
    assert run().returncode == 0
    assert "img" not in parsed().tags
    markdown = (OUT / "report.md").read_text()
    assert "<img" not in markdown and "&#124;&#42;&#42;" in markdown


def test_same_input_same_bytes(project: Path) -> None:
    def files() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted(OUT.iterdir())}

    run()
    first = files()
    # Sets have another order in another process.
    assert subprocess.run([sys.executable, "-m", "stages.report"]).returncode == 0
    assert files() == first
    assert set(first) == {
        "index.html",
        "report.md",
        "calls.svg",
        "scores-supernatinst-default.svg",
        "scores-supernatinst-xlingual.svg",
        "gains-supernatinst-default.svg",
        "gains-supernatinst-xlingual.svg",
        "correlation-supernatinst.svg",
        "dev-losses.svg",
        "perplexities.svg",
        "headline.json",
        "headline.txt",
    }
    assert not list(OUT.parent.glob(".report*"))


def test_headline(reported: Path) -> None:
    found = results.read(registry.card(NAME), SCORED)
    entries = headline.entries(found)
    assert json.loads((OUT / "headline.json").read_text()) == entries
    assert [entry["system"] for entry in entries[:6]] == list(SYSTEMS)
    first, crossing = entries[0], entries[6]
    assert list(first) == [
        *("benchmark", "track", "system", "n", "rougeL", "rougeL_low", "rougeL_high"),
        *("exact_match", "exact_match_low", "exact_match_high"),
    ]
    assert (first["benchmark"], first["track"], first["n"]) == (NAME, "default", 192)
    assert first["rougeL_low"] <= first["rougeL"] <= first["rougeL_high"]
    assert (crossing["track"], crossing["n"], crossing["rougeL_low"]) == ("xlingual", 16, None)
    table = (OUT / "headline.txt").read_text()
    assert table == headline.text_table([found]) and all(len(line) < 100 for line in table.splitlines())
    assert re.search(rf"combined +{entries[4]['rougeL']:.2f} +\[", table)
    assert table.startswith("Super-NaturalInstructions, English track, 192 instances\n")
    assert table.count("too few") == 12


def test_a_system_without_the_second_metric_has_a_dash_in_its_place(reported: Path) -> None:
    rows = tables.read_rows(SCORED, contracts.SCORES)
    rows = [row for row in rows if row["metric"] != "exact_match" or row["system"] != "untuned"]
    found = results.Results(registry.card(NAME), rows, {})
    (entry,) = [
        one for one in headline.entries(found) if (one["system"], one["track"]) == ("untuned", "default")
    ]
    assert "exact_match" not in entry and "rougeL" in entry
    assert re.search(r"untuned .*–\n", headline.text_table([found]))


def test_a_missing_evaluation_is_one_line(project: Path) -> None:
    Path("data/evaluate").rename("elsewhere")
    done = run()
    assert done.returncode == 2 and "no such table" in done.stderr and len(done.stderr.splitlines()) == 1
    assert not OUT.exists()


def test_one_track_without_tasks(project: Path) -> None:
    rewrite(
        lambda table, rows: [
            row
            for row in rows
            if table != "improvements" and row["track"] == "default" and row.get("level") != "task"
        ]
    )
    assert run().returncode == 0
    text = (OUT / "index.html").read_text()
    assert "cross-lingual" not in text.split('id="answers"')[0] and "By task" not in text


def test_published_results_are_beside_ours_with_their_source(reported: Path) -> None:
    rows = [[cell.strip() for cell in row] for row in parsed().rows]
    at = rows.index(["Published: Wang et al. 2022, table 3"])
    assert rows[at + 1][:2] == ["Copying instance input", "14.2"]
    assert rows.count(["Published: Wang et al. 2022, table 3"]) == 2, "a block a track"
    assert [row[1] for row in rows if row[0] == "mTk-Instruct 13B"] == ["57.1", "66.1"]
    assert [row[1] for row in rows if row[0] == "Tk-Instruct 3B"] == ["54.3"], "no cross-lingual result"
    text = (OUT / "report.md").read_text()
    assert "| *Tk-Instruct 11B* (Wang et al. 2022, table 3) | *62.0* | | | |" in text
    assert all(system not in (OUT / "headline.txt").read_text() for system in ("11B", "Published"))


def test_all_metrics_are_in_a_table_where_the_headline_shows_some(reported: Path) -> None:
    scores = {(row["system"], row["metric"]): row["value"] for row in tables.read_rows(SCORED, contracts.SCORES)
              if (row["track"], row["level"]) == ("default", "overall")}  # fmt: skip
    row = next(row for row in parsed().rows if row[0] == "ROUGE-1 (%)")
    assert [cell.split("[")[0] for cell in row[2:]] == [f"{scores[one, 'rouge1']:.1f}" for one in SYSTEMS]


def test_what_helps_is_there_only_with_one_of_the_halves(reported: Path) -> None:
    assert "arms" not in parsed().ids and "What helps" not in (OUT / "report.md").read_text()


def test_what_helps(arms: Path) -> None:
    assert run().returncode == 0
    rows = [[cell.strip() for cell in row] for row in parsed().rows]
    start = next(at for at, row in enumerate(rows) if row[:3] == ["system", "adds", "score"])
    adds = {"tk_instruct": "neither", "calls_only": "tool calls", "evidence_only": "evidence",
            "combined": "tool calls and evidence"}  # fmt: skip
    assert [row[:2] for row in rows[start + 1 : start + 5]] == [list(pair) for pair in adds.items()]
    compared = tables.read_rows(SCORED, contracts.COMPARISONS)
    for row in rows[start + 2 : start + 5]:
        (one,) = [one for one in compared if (one["system"], one["baseline"]) == (row[0], "tk_instruct")
                  and (one["track"], one["level"], one["metric"]) == ("default", "overall", "rougeL")]  # fmt: skip
        assert row[3] == f"{one['value']:+.1f}".replace("-", "−")
        assert row[5:7] == [str(one["n"]), f"{one['p']:.4f}" if one["p"] >= 0.0001 else "< 0.0001"]
        assert row[7] == ("yes" if one["moved"] else "no")
    assert rows[start + 1][3:] == ["–"] * 5
    assert sum(row[:3] == ["system", "adds", "score"] for row in rows) == 4, "two tracks, two metrics"
    assert "| calls_only | tool calls |" in (OUT / "report.md").read_text()
    assert set(ARMS) <= {row[0] for row in rows if len(row) == 2 and "fine-tuned by the recipe" in row[1]}


def test_no_file_of_the_report_names_a_benchmark() -> None:
    named = re.compile(r"super-?_?natural|natural_instructions|tool_use|protoqa|zeroscrolls", re.IGNORECASE)
    for file in sorted((ROOT / "stages" / "report").iterdir()):
        if file.is_file():
            assert not named.search(file.read_text()), file.name
