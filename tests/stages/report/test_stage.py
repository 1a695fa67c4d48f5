"""The finished report, from a whole made-up data folder."""

from __future__ import annotations

import contextlib
import csv
import json
import re
import shutil
import subprocess
import sys
from functools import lru_cache
from html import escape, unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks import registry
from nightjar.benchmarks.sections import ReportRow, Value, numbered, texts
from nightjar.core import contracts, tables
from nightjar.core.display import p
from nightjar.core.identity import contents
from stages.report.plots.spec import ROLES
from stages.report.read import benchmark_results
from stages.report.site import ASSETS, without_equal
from tests.in_process import refused_stage, run_stage
from tests.stages.report.building import MODELS, NAME, ROOT, SCORED, SYSTEMS, rewrite

VOID = {"meta", "br", "link", "img"}
# The marks of roles before the names of systems, which only readers who see them need.
GLYPHS = str.maketrans(dict.fromkeys((glyph for _, glyph in ROLES.values()), ""))
METRIC = registry.load_benchmark(NAME).metric("rougeL")
OUT = Path("data/report")
PLOTS = ("forests", "calls", "stages", "losses", "perplexities", f"correlation-{NAME}", f"forest-{NAME}",
         *(f"gains-{NAME}-{track}" for track in ("default", "xlingual")))  # fmt: skip


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
            self.rows[-1][-1] += data.translate(GLYPHS)


def parsed(*names: str) -> Page:
    """These pages of the report one after the other, or all."""
    return _page(*(file.read_text() for file in [OUT / name for name in names] or sorted(OUT.glob("*.html"))))


@lru_cache(maxsize=32)
def _page(*texts: str) -> Page:
    """Of these texts; many tests read the same report."""
    found = Page()
    for one in texts:
        found.feed(one)
        assert not found.open
    return found


def text(*names: str) -> str:
    """The texts of these pages, or of all, without their markup."""
    files = [OUT / name for name in names] or sorted(OUT.glob("*.html"))
    words = re.sub(
        r"<(style|script).*?</\1>|<[^>]*>", " ", " ".join(file.read_text() for file in files), flags=re.DOTALL
    )
    return " ".join(unescape(words).translate(GLYPHS).split())


def explorer(name: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What the explorer of a benchmark lists, and what it shows of each instance, from the scripts of the report."""
    folder = OUT / "instances" / name
    value = re.compile(r"window\.nightjar(?:\.texts\[\d+\])? = (.*);\n", re.DOTALL)

    def of(file: str) -> Any:
        found = value.fullmatch((folder / file).read_text(encoding="utf-8"))
        assert found
        return json.loads(found[1])

    files = [f"{place}.js" for place in range(len(list(folder.iterdir())) - 1)]
    return of("list.js"), [one for file in files for one in of(file)]


def overall(table: contracts.Table) -> list[dict[str, Any]]:
    """The evaluation's rows on all instances of the first track by the main metric."""
    cell = {"track": "default", "level": "overall", "metric": "rougeL"}
    return [row for row in tables.read_rows(SCORED, table) if cell.items() <= row.items()]


def test_pages_are_self_contained_and_well_formed(reported: Path) -> None:
    ids = {file.name: parsed(file.name).ids for file in OUT.glob("*.html")}
    for name in ids:
        found, page = parsed(name), (OUT / name).read_text()
        for link in found.links:
            file, _, target = link.partition("#")
            assert (OUT / (file or name)).is_file(), link
            assert not target or target in ids[file or name] or "=" in target, link
        assert not found.tags & {"iframe", "object"}
        inline = re.findall(r'<script(?! defer src="(?:assets|instances)/| type="application/json")', page)
        assert not inline, "no script in a page itself"
        assert (
            "default-src 'none'; img-src 'self'; style-src 'self' 'unsafe-inline'; script-src 'self'" in page
        )
        assert set(re.findall(r"https?://[^\"]*", page)) <= {"http://www.w3.org/2000/svg"}
        assert "url(" not in page and "@import" not in page


def test_the_assets_are_small_and_have_their_licences() -> None:
    sizes = {file.name: file.stat().st_size for file in ASSETS.iterdir()}
    assert sum(sizes.values()) < 210_000, sizes
    licences = (ASSETS / "licences.txt").read_text()
    assert all(word in licences for word in ("datatables.js", "datatables-scroller.js", "Copyright"))


def test_the_leaderboard(reported: Path) -> None:
    page = parsed("index.html")
    rows = {row[0].strip(): row for row in page.rows if row}
    scores = {row["system"]: row for row in overall(contracts.SCORES)}
    compared = overall(contracts.COMPARISONS)
    told = (OUT / "index.html").read_text()
    for system in ("tk_instruct", "combined"):
        one = scores[system]
        (paired,) = [row for row in compared if (row["system"], row["baseline"]) == (system, "untuned")]
        sign = "" if not paired["significant"] else "+" if paired["value"] > 0 else "−"
        cell = f"{one['value']:.1f}{sign} [{one['low']:.1f}, {one['high']:.1f}]"
        assert " ".join(rows[system][2].split()) == f"☰ {cell}"
        verdict = "significant" if paired["significant"] else "not significant"
        difference = f"{paired['value']:+.1f} [{paired['low']:+.1f}, {paired['high']:+.1f}]".replace("-", "−")
        words = f"{difference} from untuned, p {p(paired['p'])}, {verdict}"
        assert f'title="{escape(words)}"' in told
    roles = ["baseline", "baseline", "baseline", "control", "treatment", "upper bound"]
    assert [rows[it][1].strip() for it in SYSTEMS] == roles
    assert rows["mTk-Instruct 13B"] == ["mTk-Instruct 13B", "57.1", "Wang et al. 2022, table 3"]
    assert told.index("other models, other test set") < told.index("mTk-Instruct 13B")
    found = csv.DictReader((OUT / "leaderboard.csv").read_text().splitlines())
    values = {row["system"]: float(row["value"]) for row in found if row["n"]}
    assert values == {system: row["value"] for system, row in scores.items()}


def test_an_opposite_finding_is_on_the_overview_and_on_the_page_of_the_benchmark(project: Path) -> None:
    """Wang et al. have the upper bound above Tk-Instruct."""

    def worsened(table: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            row | {"value": 0.5} if row.get("system") == "supervised" and table == "scores" else row
            for row in rows
        ]

    rewrite(worsened)
    assert run().returncode == 0
    sentence = "English track: supervised has 0.5 and is worse than tk_instruct with"
    for name in ("index.html", f"{NAME}.html"):
        assert text(name).count(sentence) == 1, name
    assert text("index.html").index("The leaderboard as CSV") < text("index.html").index(sentence)


def test_three_sentences_say_what_was_evaluated_how_systems_rank_and_what_is_significant(
    reported: Path,
) -> None:
    first, ranks, tests = re.findall(
        r"<p>(.*?)</p>", (OUT / "index.html").read_text().split('class="sentences"')[1].split("</div>")[0]
    )
    assert first.startswith("6 systems answered 192 instances of 1 benchmark, from the sample")
    rows = [row for row in overall(contracts.SCORES) if row["system"] != "supervised"]
    best = sorted(rows, key=lambda row: -row["value"])[:2]
    told = [f"{row['system']} {row['value']:.1f}" for row in best]
    assert ranks.endswith(f": {told[0]}, then {told[1]} (Super-NaturalInstructions)."), "bold if significant"
    compared = [
        row for row in overall(contracts.COMPARISONS) if "untuned" in (row["system"], row["baseline"])
    ]
    assert tests.startswith(f"{sum(row['significant'] for row in compared)} of {len(compared)} differences")


def test_texts_that_are_equal_in_all_rows_are_said_once() -> None:
    heads = [*texts("system", "significant"), *numbered("score", "p")]
    rows = [ReportRow((name, "no", Value(METRIC, 0.0), "n<20")) for name in ("a", "b", "c")]
    found = without_equal(heads, rows, "All systems.")
    assert [it.title for it in found.columns] == ["system", "score"], "equal scores remain"
    assert found.caption == "All systems. none is significant, p n<20" and found.rows[1].cells[0] == "b"
    assert without_equal(heads, rows[:2]).columns == heads, "two may be equal by chance"


@pytest.mark.parametrize(
    ("n", "significant", "bold"), [(192, True, True), (192, False, False), (19, True, False)]
)
def test_bold_is_only_what_is_significantly_best(n: int, significant: bool, bold: bool) -> None:
    """Neither people nor the upper bound compete; fewer than 20 instances have no best one."""
    cell = {"track": "default", "level": "overall", "name": "overall", "metric": "rougeL", "n": n}
    values = {"people": 90.0, "supervised": 80.0, "combined": 60.0, "untuned": 40.0}
    scores = [{**cell, "system": it, "value": of, "low": of - 1, "high": of + 1} for it, of in values.items()]
    pair = {**cell, "system": "untuned", "baseline": "combined", "value": -20.0, "low": -30.0, "high": -10.0}
    pair |= {"p": 0.01, "significant": significant, "better": 1, "worse": 9, "equal": 0}
    roles = {"people": "human", "supervised": "bound", "combined": "treatment", "untuned": "baseline"}
    found = benchmark_results.Results(registry.load_benchmark(NAME), scores, {}, [pair], roles)
    assert found.best("default", "overall", found.overall("default")[0]) == ("combined" if bold else "")


def test_every_name_of_a_system_is_explained(reported: Path) -> None:
    page = (OUT / "index.html").read_text()
    for system, role in (("untuned", "baseline"), ("tk_instruct", "control"), ("supervised", "upper bound")):
        assert re.search(
            rf'<abbr class="\w+" title="{role}: [^"]{{20,}}"><i aria-hidden="true">.</i>{system}</abbr>', page
        )
    assert all(f">{role}</abbr>" in page for role in ("baseline", "control", "treatment", "upper bound"))


def test_the_instances_of_all_systems(reported: Path) -> None:
    listed, shown = explorer(NAME)
    assert listed["systems"] == list(MODELS) and len(listed["rows"]) == len(shown) == 208
    for place, system in enumerate(MODELS):
        predicted = {
            row["id"]: row
            for row in tables.read_rows(Path("data/predict", NAME, system), contracts.PREDICTIONS)
        }
        assert len(predicted) == (206 if system == "untuned" else 208)
        for (_, id, _, _, verdicts, scores, calls, answers), one in zip(listed["rows"], shown, strict=True):
            row = predicted.get(id, {"answers": [""], "calls": []})
            assert answers[place] == row["answers"][0] and calls[place] == len(row["calls"])
            assert verdicts[place] in ("01" if id in predicted else "x") and float(scores[place]) <= 100
            assert one["systems"][place]["answers"] == (row["answers"][:1] if id in predicted else [])
            assert [it[1:] for it in one["systems"][place]["calls"]] == [
                [it["input"], it["result"]] for it in row["calls"]
            ]


def test_every_score_stands_where_it_belongs(reported: Path) -> None:
    """In the heat table and the tables of all metrics and tasks, systems stand by role."""
    rows: dict[str, list[str]] = {}
    for row in parsed(f"{NAME}.html").rows:
        if "−" not in "".join(row[1:]):  # neither a difference nor a gain
            rows.setdefault(row[0], [cell.strip() for cell in row])
    scores = {
        (row["track"], row["level"], row["name"], row["metric"], row["system"]): row
        for row in tables.read_rows(SCORED, contracts.SCORES)
    }
    for name, metric in (("word_analogy", "exact_match"), ("data_to_text", "rougeL")):
        row = rows[3 * "\u00a0" + name.replace("_", " ").capitalize()]
        cells = [scores["default", "category", name, metric, system] for system in SYSTEMS]
        assert row[1] == registry.load_benchmark(NAME).metric(metric).title
        assert row[2:] == ["16", *(f"{cell['value']:.1f}" for cell in cells)]
    key = ("default", "task", "task900_made_up", "exact_match")
    assert rows["task900_made_up"][-6:] == [f"{scores[*key, system]['value']:.1f}" for system in SYSTEMS]
    rouge = [scores["default", "overall", "overall", "rouge1", system] for system in SYSTEMS]
    assert [cell.split("[")[0] for cell in rows["ROUGE-1 (%)"][-6:]] == [f"{it['value']:.1f}" for it in rouge]


def test_wrong_calls_are_shown_as_such(reported: Path) -> None:
    assert "<h1>Tool calls</h1>" in (OUT / "calls.html").read_text(encoding="utf-8")
    before, after = text("calls.html").split("The result does not occur there: 1 of 2")
    assert "Calculator(14 * 30) → 420" in before and "Calculator(18 - 45) → -27" in after
    rows = [row[:3] for row in parsed("stages.html").rows]
    assert ["augment@calculator", "malformed", "75"] in rows
    assert ["ingest@natural_instructions", "id occurs twice", "3"] in rows


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
    assert "x" not in parsed().links
    assert attack in text()


def test_same_input_same_bytes(project: Path) -> None:
    run()
    first = contents(OUT)
    # Sets have another order in another process.
    assert subprocess.run([sys.executable, "-m", "stages.report"]).returncode == 0
    assert contents(OUT) == first
    pages = ["index", "training", "calls", "provenance", "stages", NAME, f"{NAME}.instances"]
    assert {path.relative_to(OUT).as_posix() for path in OUT.rglob("*.*")} == {
        *(f"{page}.html" for page in pages),
        *(f"{name}.{kind}" for name in PLOTS for kind in ("svg", "csv")),
        *(f"assets/{file.name}" for file in ASSETS.iterdir()),
        *(f"instances/{NAME}/{file}.js" for file in ("list", 0, 1, 2)),
        *("leaderboard.csv", f"scores-{NAME}.csv", "headline.json", "headline.txt", "flat.json"),
    }
    assert not list(OUT.parent.glob(".report*"))


def test_headline(reported: Path) -> None:
    found = benchmark_results.read(registry.load_benchmark(NAME), SCORED)
    entries = found.headline_table().entries()
    assert json.loads((OUT / "headline.json").read_text()) == entries
    assert [entry["system"] for entry in entries] == [*SYSTEMS] * 2
    flat = json.loads((OUT / "flat.json").read_text())
    for entry in entries:
        names = "/".join((entry["benchmark"], entry["track"], entry["system"]))
        for column in list(entry)[3:]:
            assert flat.pop(f"{names}/{column}", None) == entry[column]
    assert not flat
    scores = json.loads(Path("data/scores.json").read_text())[NAME]
    assert scores == {entry["system"]: round(entry["rougeL"], 2) for entry in entries[: len(SYSTEMS)]}
    first, crossing = entries[0], entries[6]
    ends = [f"{metric}{end}" for metric in ("rougeL", "exact_match") for end in ("", "_low", "_high")]
    assert list(first) == ["benchmark", "track", "system", "n", *ends]
    assert (first["benchmark"], first["track"], first["n"]) == (NAME, "default", 192)
    assert first["rougeL_low"] <= first["rougeL"] <= first["rougeL_high"]
    assert (crossing["track"], crossing["n"], crossing["rougeL_low"]) == ("xlingual", 16, None)
    lines = (OUT / "headline.txt").read_text().splitlines()
    assert all(len(line) <= 80 for line in lines) and lines[0].split() == ["system", NAME]
    shown = [line.split()[:2] for line in lines[1:7]]
    assert shown == [[entry["system"], f"{entry['rougeL']:.2f}"] for entry in entries[:6]]
    # A system without the second metric has no such entry.
    rows = tables.read_rows(SCORED, contracts.SCORES)
    rows = [row for row in rows if row["metric"] != "exact_match" or row["system"] != "untuned"]
    entries = benchmark_results.Results(registry.load_benchmark(NAME), rows, {}).headline_table().entries()
    (entry, _) = [one for one in entries if one["system"] == "untuned"]
    assert "exact_match" not in entry and "rougeL" in entry


def test_a_missing_evaluation_is_one_line(project: Path) -> None:
    Path("data/evaluate").rename("elsewhere")
    assert "no such table" in refused_stage("report")
    assert not OUT.exists()


def test_one_track_without_tasks_and_with_too_few_points(project: Path) -> None:
    def fewer(table: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if table == "improvements":
            return []
        return [row for row in rows if row["track"] == "default" and row.get("level") != "task"]

    rewrite(fewer)
    facts = Path("data/metrics/evaluate-supernatinst.json")
    values = json.loads(facts.read_text())
    point = {"points": 1, "r": None, "low": None, "high": None}
    values["correlation"] = [entry | point | {"of": entry["of"][:1]} for entry in values["correlation"][:1]]
    facts.write_text(json.dumps(values))
    assert run().returncode == 0
    page = (OUT / f"{NAME}.html").read_text()
    assert "cross-lingual" not in page and "By task" not in page
    assert "not enough points (1)" in text(f"{NAME}.html")


def test_an_evaluation_of_another_model_has_no_sampled_calls_and_names_what_it_left_out(
    project: Path,
) -> None:
    shutil.rmtree("data/augment")
    reasons = {NAME: {"task9": "the server gives no log-probabilities"}}
    Path("evaluation.json").write_text(json.dumps({"name": "x", "left_out": reasons}), encoding="utf-8")
    assert run().returncode == 0
    assert not (OUT / "calls.html").exists() and "calls.html" not in parsed("index.html").links
    assert "task9: the server gives no log-probabilities" in text("index.html")


def test_what_helps(built_with_two: Path, built_report: Path) -> None:
    with contextlib.chdir(built_report):
        assert "ablation" not in parsed().ids, "none of the halves"
    with contextlib.chdir(built_with_two):
        rows = [[cell.strip() for cell in row] for row in parsed().rows]
        compared = overall(contracts.COMPARISONS)
    heads = [at for at, row in enumerate(rows) if row[:3] == ["system", "adds", "score"]]
    assert len(heads) == 4, "two tracks, two metrics"
    control, *others = rows[heads[0] + 1 : heads[0] + 5]
    assert control[:2] == ["tk_instruct", "neither"] and control[3:] == ["–"] * 5
    adds = {"calls_only": "tool calls", "evidence_only": "evidence", "combined": "tool calls and evidence"}
    assert {row[0]: row[1] for row in others} == adds
    differences = {row["system"]: row for row in compared if row["baseline"] == "tk_instruct"}
    for row in others:
        one = differences[row[0]]
        assert row[3] == f"{one['value']:+.1f}".replace("-", "−")
        assert row[5:7] == [str(one["n"]), p(one["p"])]
        assert row[7] == ("yes" if one["significant"] else "no")


def test_no_file_of_the_report_names_a_benchmark() -> None:
    named = re.compile(r"super-?_?natural|natural_instructions|tool_use|protoqa|zeroscrolls", re.IGNORECASE)
    for file in sorted((ROOT / "stages" / "report").rglob("*")):
        if file.is_file() and file.suffix != ".pyc":
            assert not named.search(file.read_text()), file.name
