"""Cards of other packages: what is wrong with one is one line that names the package, and nothing wrong is scored."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nightjar.benchmarks import registry
from nightjar.benchmarks.capabilities import EvaluationFacts
from nightjar.benchmarks.question import Sources
from nightjar.benchmarks.registry import validated
from nightjar.benchmarks.sections import ReportSections
from nightjar.core.errors import NightjarError
from pipelines.cli import main
from tests.in_process import captured

MODULE = """
from dataclasses import replace
import numpy as np
from nightjar.benchmarks import Card, Files, Metric, Question, Task
from nightjar.benchmarks.capabilities import Average, EvaluationFacts, Tracks
from nightjar.benchmarks.sections import ReportSections, Section, Text
from nightjar.statistics import Statistic

def score(questions, answers):
    right = [float(given[:1] == list(q.references)) for q, given in zip(questions, answers)]
    return {"accuracy": np.array(right)}

def asked(**changes):
    return lambda sources, settings, seed: iter([Question("own", "t", "1", {}, ("a",))._replace(**changes)])

CARD = Card(name="own", version=1, title="Own", source="made up", datasets=("own",),
    metrics=(Metric("accuracy", "accuracy"),), questions=asked(), prompt=lambda question, asking: "x",
    score=score, files=Files("write answers", "write references"), tasks={"t": Task()})

def ratio(by):
    return Statistic("ratio", 2, lambda values: values, lambda sums, n: sums[:, 0] / by)

def scored(change):
    return replace(CARD, score=lambda questions, answers: change(score(questions, answers)["accuracy"]))
"""
Score = Callable[..., "tuple[int, str, str]"]


@pytest.fixture()
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Installs a package own-package whose card is that of MODULE and these lines."""

    def forget() -> None:
        registry._packaged.cache_clear()
        registry._points.cache_clear()
        sys.modules.pop("own_card", None)

    def install(lines: str) -> None:
        (tmp_path / "own_card.py").write_text(f"{MODULE}\n{lines}\n")
        about = tmp_path / "own_package-1.0.dist-info"
        about.mkdir(exist_ok=True)
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: own-package\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text("[nightjar.benchmarks]\nown = own_card:CARD\n")
        forget()

    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.chdir(tmp_path)
    yield install
    forget()


@pytest.fixture()
def score(own: Callable[[str], None]) -> Score:
    """What `nightjar score --json` of 24 answers gives with such a card: its status, output and errors."""

    def run(lines: str, *options: str) -> tuple[int, str, str]:
        own(lines)
        rows = [
            {"task": "t", "id": str(n), "prediction": "a", "references": ["ab"[n % 2]]} for n in range(24)
        ]
        Path("file.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        files = ("--predictions", "file.jsonl", "--references", "file.jsonl")
        done = captured(main, ["score", "--benchmark", "own", *files, *options])
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        # its results
        ("CARD = scored(lambda values: 1 / 0)", "score fails (ZeroDivisionError: division by zero)"),
        ("CARD = scored(lambda values: exit(3))", "score fails (SystemExit: 3)"),
        ("CARD = scored(lambda values: None)", "score = None is not allowed"),
        ("CARD = scored(lambda values: {'accuracy': list(values)})", "it should be an instance of ndarray"),
        ("CARD = scored(lambda values: {'accuracy': values[:, None]})", "of the shape (24, 1) for accuracy"),
        ("CARD = scored(lambda values: {'accuracy': values[1:]})", "of the shape (23,) for accuracy"),
        ("CARD = scored(lambda values: {'accuracy': values.astype(str)})", "an array of <U32 for accuracy"),
        ("CARD = scored(lambda values: {})", "no values for accuracy, but for none; give an array for each of accur"),
        ("CARD = scored(lambda values: {'acuracy': values})", "no values for accuracy, but for acuracy"),
        ("CARD = scored(lambda values: {'accuracy': values / 0})", "gives inf for accuracy of t 0"),
        ("CARD = scored(lambda values: {'accuracy': values * np.nan})", "NaN alone: no part applies"),
        ("CARD = scored(lambda values: {'accuracy': values * 72})", "accuracy = 7200 of t 0, out of range"),
        (
            "two = Metric('accuracy', 'x', ('a', 'b'), ratio(1.0))\n"
            "CARD = replace(scored(lambda v: {'a': v, 'b': np.where(v == 1, np.nan, v)}), metrics=(two,))",
            "NaN for some parts of accuracy of t 0",
        ),
        (
            "two = Metric('ratio', 'x', ('a', 'b'), ratio(0.0))\n"
            "CARD = replace(scored(lambda v: {'a': v, 'b': v}), metrics=(two,))",
            "ratio = inf of all questions, out of range",
        ),
        # its fields
        ("CARD = CARD.with_capabilities(Tracks({}, ('overal',)))", "Tracks.levels.0 = 'overal' is not allowed;"),
        ("CARD = CARD.with_capabilities(Tracks({}, ()))", "levels is empty"),
        ("CARD = replace(CARD, capabilities=[])", "capabilities = [] is not allowed; it should be a valid tuple"),
        ("CARD = replace(CARD, capabilities=(Tracks,))", "it should be an instance of Capability"),
        ("CARD = replace(CARD, capabilities=2 * (Tracks({}),))", "two capabilities are Tracks"),
        ("CARD = CARD.with_capabilities(Average('mean', ('t',)))", "Average names the metric 'mean'"),
        ("CARD = replace(CARD, metrics=())", "metrics is empty"),
        ("CARD = replace(CARD, datasets='own')", "datasets = 'own' is not allowed; it should be a valid tuple"),
        ("CARD = replace(CARD, score=3)", "score = 3 is not allowed; it should be callable"),
        ("CARD = replace(CARD, metrics=(Metric('n', 'n'),))", "a metric has the name 'n'"),
        ("CARD = replace(CARD, metrics=2 * CARD.metrics)", "two metrics have the name 'accuracy'"),
        ("CARD = replace(CARD, metrics=(Metric('a', 'a', range=(1.0, 0.0)),))", "range of the metric 'a' is empty"),
        ("CARD = replace(CARD, tasks={'t': Task(kind='choose')})", "has the kind choose and 0 choices"),
        ("CARD = replace(CARD, name='other')", "this card has the name 'other'; name it own"),
        # its module
        ("CARD = 'a card'", "a str instead of a card"),
        ("raise SystemExit", "it cannot be loaded (SystemExit: SystemExit)"),
        ("raise KeyError('\\x1b[31mred\\nline')", "cannot be loaded (KeyError: '\\x1b[31mred\\nline')"),
        ("import nowhere", "it cannot be loaded (ModuleNotFoundError: No module named 'nowhere')"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_card_is_one_line_that_names_its_package(
    lines: str, told: str, score: Score
) -> None:
    status, output, errors = score(lines, "--json")
    assert (status, output) == (2, "")
    assert errors.startswith(
        "nightjar: package own-package, entry point 'own' of the group nightjar.benchmarks ="
    )
    assert told.replace("\n", " ") in errors and errors.count("\n") == 1 and "\x1b" not in errors


@pytest.mark.parametrize(
    "lines",
    [
        "",
        "CARD = scored(lambda values: {'accuracy': values.astype(bool)})",
        "CARD = scored(lambda values: {'accuracy': values.astype(np.int8), 'more': values})",
        "CARD = replace(CARD, metrics=(Metric('accuracy', 'x', range=(0, 100)),))",
    ],
)
def test_a_good_card_is_scored(lines: str, score: Score) -> None:
    status, output, errors = score(lines, "--json")
    assert (status, json.loads(output)["metrics"], errors) == (0, {"t": 50.0}, "")


def test_what_a_card_prints_is_not_in_the_output(score: Score) -> None:
    noisy = "print('at import')\nCARD = scored(lambda values: print('in a call') or {'accuracy': values})"
    for option in ("--json", "--csv"):
        status, output, errors = score(noisy, option)
        assert (status, errors) == (0, "at import\nin a call\n")
        assert output[0] in "{t"
    json.loads(score(noisy, "--json")[1])


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("CARD = replace(CARD, questions=asked(id=3))", "questions.id = 3 is not allowed; it should be a valid string"),
        ("CARD = replace(CARD, questions=asked(references='a'))", "questions.references = 'a' is not allowed"),
        ("CARD = replace(CARD, questions=lambda *them: (1 / 0 for _ in 'ab'))", "questions fails (ZeroDivisionError"),
        ("CARD = replace(CARD, questions=lambda *them: 5)", "questions fails (TypeError"),
        ("CARD = replace(CARD, prompt=lambda *them: None)", "prompt = None is not allowed"),
        ("CARD = replace(CARD, load=lambda folder: iter('ab'))", "load.Record = 'a' is not allowed"),
        ("CARD = replace(CARD, baselines=lambda settings: {'one': lambda *them: 1})", "baselines['one'] = 1 is not"),
        ("CARD = CARD.with_capabilities(ReportSections(lambda found: [3]))", "ReportSections.make.0 = 3 is not"),
        ("CARD = CARD.with_capabilities(ReportSections(lambda found: 1 / 0))", "ReportSections.make fails (Zero"),
        ("CARD = CARD.with_capabilities(ReportSections(lambda found: [Section('a', 'A', [Text(3)])]))", "Text.text"),
        ("CARD = CARD.with_capabilities(EvaluationFacts(lambda *them: {'a': {1}}))", "EvaluationFacts.facts.a"),
    ],
)  # fmt: skip
def test_what_a_card_gives_is_checked(lines: str, told: str, own: Callable[[str], None]) -> None:
    own(lines)
    card = registry.card("own")
    with pytest.raises(NightjarError) as caught:
        for question in card.questions(Sources(Path(), Path()), None, 0):
            card.prompt(question, None)  # type: ignore[arg-type]
            for answer in card.baselines(None).values():
                answer(question, 0)
        for one in card.capabilities_of(EvaluationFacts):
            one.facts([], None)
        for making in card.capabilities_of(ReportSections):
            making.make(None)  # type: ignore[arg-type]
        list(card.load(Path()) if card.load else ())
    assert told in str(caught.value) and "own-package" in str(caught.value)


def test_two_packages_with_one_benchmark_are_refused(own: Callable[[str], None], tmp_path: Path) -> None:
    own("")
    (tmp_path / "own_package-1.0.dist-info/entry_points.txt").write_text(
        "[nightjar.benchmarks]\nprotoqa = own_card:CARD\n"
    )
    with pytest.raises(NightjarError, match=r"two benchmarks have this name: .*protoqa"):
        registry.names()


@pytest.mark.parametrize("name", registry.OWN)
def test_nightjars_own_cards_are_held_to_the_same(name: str) -> None:
    card = registry.card(name)
    found = validated(card, name, "here")
    assert [(one.name, one.parts, one.range) for one in found.metrics] == [
        (one.name, one.parts, one.range) for one in card.metrics
    ]
