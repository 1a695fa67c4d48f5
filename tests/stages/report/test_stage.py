"""The finished page, from a whole made-up data folder."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

from nightjar.core import contracts, tables
from stages.report import page, results
from stages.report.headline import headline, text_table
from tests.in_process import run_stage

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


def test_page_is_self_contained_and_well_formed(project: Path) -> None:
    done = run()
    assert done.returncode == 0, done.stderr
    found = parsed()
    assert all(link.startswith("#") and link[1:] in found.ids for link in found.links)
    assert not found.tags & {"script", "img", "link", "iframe", "object"}
    text = (OUT / "index.html").read_text()
    assert set(re.findall(r"https?://[^\"]*", text)) == {"http://www.w3.org/2000/svg"}
    assert "url(" not in text and "@import" not in text


def test_every_score_stands_where_it_belongs(project: Path) -> None:
    run()
    rows: dict[str, list[str]] = {}
    for row in parsed().rows:
        if "−" not in "".join(row[1:]):  # neither a difference nor a gain
            rows.setdefault(row[0], [cell.strip() for cell in row])
    scores = {
        (row["track"], row["level"], row["name"], row["metric"], row["system"]): row
        for row in tables.read_rows(Path("data/evaluate/supernatinst"), contracts.SCORES)
    }
    systems = ["copy_input", "copy_demo", "untuned", "tk_instruct", "combined", "supervised"]
    for name, title, metric in (
        ("word_analogy", "Word analogy", "exact_match"),
        ("data_to_text", "Data to text", "rougeL"),
    ):
        cells = [scores["default", "category", name, metric, system] for system in systems]
        assert rows[title][1] == {"exact_match": "exact match", "rougeL": "ROUGE-L"}[metric]
        assert rows[title][2] == "16" and all(cell["low"] is None for cell in cells)
        assert rows[title][3:] == [f"{cell['value']:.1f}n = 16, too few" for cell in cells]
    task = [
        scores["default", "task", "task900_made_up", "exact_match", system]["value"] for system in systems
    ]
    assert rows["task900_made_up"][3:] == [f"{value:.1f}" for value in task]


def test_markdown_tables_are_whole(project: Path) -> None:
    run()
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


def test_wrong_calls_are_shown_as_such(project: Path) -> None:
    run()
    text = (OUT / "report.md").read_text()
    before, after = text.split("The result does not stand there: 1 of 2")
    assert "Calculator(14 &#42; 30) → 420" in before and "Calculator(18 - 45) → -27" in after
    assert "| augment@calculator | below threshold | 300 |" in text
    assert "| ingest@natural_instructions | id occurs twice | 3 |" in text


def test_texts_cannot_become_markup(project: Path) -> None:
    attack = '<img src=x onerror="alert(1)">|**'
    folder = Path("data/evaluate/supernatinst")
    rows = tables.read_rows(folder, contracts.SCORES)
    instances = tables.read_rows(folder, contracts.INSTANCE_SCORES)
    for row in rows:
        if row["level"] == "task":
            row["name"] += attack
    for row in instances:
        row["task_id"] += attack
    compared = tables.read_rows(folder, contracts.COMPARISONS)
    gained = tables.read_rows(folder, contracts.IMPROVEMENTS)
    for row in compared:
        row["name"] += attack if row["level"] == "category" else ""
    for row in gained:
        row["task_id"] += attack
        row["category"] += attack
    with tables.ArtifactWriter(folder) as writer:
        writer.write(contracts.INSTANCE_SCORES, instances)
        writer.write(contracts.SCORES, rows)
        writer.write(contracts.COMPARISONS, compared)
        writer.write(contracts.IMPROVEMENTS, gained)
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
        "scores-default.svg",
        "scores-xlingual.svg",
        "gains-default.svg",
        "gains-xlingual.svg",
        "correlation.svg",
        "dev-losses.svg",
        "headline.json",
        "headline.txt",
    }
    assert not list(OUT.parent.glob(".report*"))


def test_headline(project: Path) -> None:
    run()
    entries = headline()
    assert json.loads((OUT / "headline.json").read_text()) == entries
    assert [entry["system"] for entry in entries[:6]] == list(
        ("copy_input", "copy_demo", "untuned", "tk_instruct", "combined", "supervised")
    )
    first = entries[0]
    assert (first["track"], first["n"]) == ("default", 192)
    assert first["rougeL_low"] <= first["rougeL"] <= first["rougeL_high"]
    few = [entries[0] | {"n": 19, "rougeL_low": None, "rougeL_high": None}]
    assert f"copy_input {first['rougeL']:19.2f} n = 19, too few" in text_table(few)
    table = (OUT / "headline.txt").read_text()
    assert table == text_table(entries) and all(len(line) < 100 for line in table.splitlines())
    assert re.search(rf"combined +{entries[4]['rougeL']:.2f} +\[", table)


def test_a_missing_evaluation_is_one_line(project: Path) -> None:
    Path("data/evaluate").rename("elsewhere")
    done = run()
    assert done.returncode == 2 and "no such table" in done.stderr and len(done.stderr.splitlines()) == 1
    assert not OUT.exists()


def test_one_track_and_no_kept_call(project: Path) -> None:
    scores = [row for row in tables.read_rows(Path("data/evaluate/supernatinst"), contracts.SCORES)
              if row["track"] == "default" and row["level"] != "task"]  # fmt: skip
    files = page.build(results.Results(scores, {}), [], [])
    assert "cross-lingual" not in files["index.html"]
    assert "No stage rejected a row." in files["report.md"]


def test_metric_of_a_category() -> None:
    assert results.category_metric("Coreference Resolution") == "exact_match"
    assert results.category_metric("grammar_error_correction") == "rougeL"
    assert results.category_metric("Poetry") == "rougeL"
