"""Benchmarks of other packages: a fault of one is one line that names the package, and nothing wrong is scored."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nightjar.benchmarks import registry
from nightjar.benchmarks.question import Sources
from nightjar.core.errors import NightjarError
from pipelines.cli import main
from tests import installed_package
from tests.in_process import captured

MODULE = """
import numpy as np
from nightjar.benchmarks import Benchmark, Files, Metric, Question, Task
from nightjar.benchmarks.benchmark import Analysis, Average
from nightjar.benchmarks.file_readers import FileReaders

class Own(Benchmark):
    name, version, title, source = "own", 1, "Own", "made up"
    metrics = (Metric("accuracy", "accuracy"),)
    files = Files("write answers", "write references")
    tasks = {"t": Task()}

    def questions(self, sources, settings, seed):
        yield Question("own", "t", "1", {}, ("a",))

    def prompt(self, question, asking):
        return "x"

    def score(self, questions, answers):
        right = [float(given[:1] == list(q.references)) for q, given in zip(questions, answers)]
        return self.scores(np.array(right))

    def scores(self, values):
        return {"accuracy": values}

def changed(**members):
    return type("Own", (Own,), members)

def scored(change, **members):
    return changed(scores=lambda self, values: change(values), **members)
"""
POINT = "own = own_benchmark:Own"
Score = Callable[..., "tuple[int, str, str]"]


@pytest.fixture()
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Installs a package own-package whose benchmark is that of MODULE and these lines."""

    def forget() -> None:
        registry._packaged.cache_clear()
        registry._points.cache_clear()
        sys.modules.pop("own_benchmark", None)

    def install(lines: str) -> None:
        (tmp_path / "own_benchmark.py").write_text(f"{MODULE}\n{lines}\n")
        installed_package.install(tmp_path, "own-package", "1.0", "nightjar.benchmarks", [POINT])
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
    ("lines", "message"),
    [
        # its results
        ("Own = scored(lambda values: 1 / 0)", "score fails (ZeroDivisionError: division by zero)"),
        ("Own = scored(lambda values: exit(3))", "score fails (SystemExit: 3)"),
        ("Own = scored(lambda values: None)", "score gives a NoneType; give an array for each of accuracy"),
        ("Own = scored(lambda values: {'accuracy': values[:, None]})", "of the shape (24, 1) for accuracy"),
        ("Own = scored(lambda values: {'accuracy': values[1:]})", "of the shape (23,) for accuracy"),
        ("Own = scored(lambda values: {'accuracy': values.astype(str)})", "an array of <U32 of the shape (24,)"),
        ("Own = scored(lambda values: {})", "no values for accuracy, but for none; give an array for each of"),
        ("Own = scored(lambda values: {'acuracy': values})", "no values for accuracy, but for acuracy"),
        ("Own = scored(lambda values: {'accuracy': values / 0})", "gives inf for accuracy of t 0"),
        # its fields
        ("Own = changed(average=Average('mean', ('t',)))", "it names the metric 'mean', which is none of metrics"),
        ("Own = changed(metrics=())", "metrics is empty"),
        ("del Own.title", "it has no title"),
        ("Own = changed(score=Benchmark.score)", "it cannot be made (TypeError: Can't instantiate abstract class"),
        ("Own = changed(metrics=(Metric('n', 'n'),))", "a metric has the name 'n'"),
        ("Own = changed(metrics=2 * Own.metrics)", "two metrics have the name 'accuracy'"),
        ("Own = changed(tasks={'t': Task(kind='choose')})", "has the kind choose and no choices"),
        ("Own = changed(tasks={'t': Task(kind='sample')})", "but there is no method rank_answers"),
        ("Own = changed(name='other')", "this benchmark has the name 'other'; name it own"),
        # its module
        ("Own = 'a text'", "it is no benchmark; name a subclass of nightjar.benchmarks.Benchmark"),
        ("Own = Own()", "it is no benchmark; name a subclass of nightjar.benchmarks.Benchmark"),
        ("raise SystemExit", "it cannot be loaded (SystemExit: SystemExit)"),
        ("raise KeyError('\\x1b[31mred\\nline')", "cannot be loaded (KeyError: '\\x1b[31mred\\nline')"),
        ("import nowhere", "it cannot be loaded (ModuleNotFoundError: No module named 'nowhere')"),
    ],
)  # fmt: skip
def test_a_fault_of_a_benchmark_is_one_line_that_names_its_package(
    lines: str, message: str, score: Score
) -> None:
    status, output, errors = score(lines, "--json")
    assert (status, output) == (2, "")
    assert errors.startswith(
        "nightjar: package own-package, entry point 'own' of the group nightjar.benchmarks ="
    )
    assert message.replace("\n", " ") in errors and errors.count("\n") == 1 and "\x1b" not in errors


@pytest.mark.parametrize(
    "lines",
    [
        "",
        "Own = scored(lambda values: {'accuracy': list(values)})",
        "Own = scored(lambda values: {'accuracy': values.astype(bool)})",
        "Own = scored(lambda values: {'accuracy': values.astype(np.int8), 'more': values})",
        "Own = changed(metrics=(Metric('accuracy', 'x', range=(0, 100)),))",
    ],
)
def test_a_good_benchmark_is_scored(lines: str, score: Score) -> None:
    status, output, errors = score(lines, "--json")
    assert (status, json.loads(output)["metrics"], errors) == (0, {"t": 50.0}, "")


def test_what_a_benchmark_prints_is_not_in_the_output(score: Score) -> None:
    noisy = "print('at import')\nOwn = scored(lambda values: print('in a call') or {'accuracy': values})"
    for option in ("--json", "--csv"):
        status, output, errors = score(noisy, option)
        assert (status, errors) == (0, "at import\nin a call\n")
        assert output[0] in "{t"
    json.loads(score(noisy, "--json")[1])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            "Own = changed(questions=lambda *them: (1 / 0 for _ in 'ab'))",
            "questions fails (ZeroDivisionError",
        ),
        ("Own = changed(questions=lambda *them: 1 / 0)", "questions fails (ZeroDivisionError"),
        ("Own = changed(prompt=lambda *them: 1 / 0)", "prompt fails (ZeroDivisionError"),
        ("Own = changed(load=lambda *them: iter([1 / 0]))", "load fails (ZeroDivisionError"),
        (
            "Own = changed(baselines=lambda *them: {'one': lambda *them: 1 / 0})",
            "baselines['one'] fails (Zero",
        ),
        ("Own = changed(report_sections=lambda *them: 1 / 0)", "report_sections fails (ZeroDivisionError"),
        ("Own = changed(evaluation_facts=lambda *them: 1 / 0)", "evaluation_facts fails (ZeroDivisionError"),
        (
            "Own = changed(analyses=(Analysis('x', 'X', lambda *them: 1 / 0),))",
            "run fails (ZeroDivisionError",
        ),
        (
            "Own = changed(readers=FileReaders(*3 * [lambda *them: 1 / 0]))",
            "references fails (ZeroDivisionError",
        ),
    ],
)
def test_what_a_method_raises_names_the_package(lines: str, message: str, own: Callable[[str], None]) -> None:
    own(lines)
    benchmark = registry.load_benchmark("own")
    with pytest.raises(NightjarError) as caught:
        for question in benchmark.questions(Sources(Path(), Path()), None, 0):
            benchmark.prompt(question, None)  # type: ignore[arg-type]
            for answer in benchmark.baselines(None).values():
                answer(question, 0)
        benchmark.evaluation_facts([], None)  # type: ignore[arg-type]
        benchmark.report_sections(None)  # type: ignore[arg-type]
        for analysis in benchmark.analyses:
            analysis.run([], Path(), None, None)
        if benchmark.readers:
            benchmark.readers.references(Path())
        list(benchmark.load(Path()))
    assert message in str(caught.value) and "own-package" in str(caught.value)


def test_two_packages_with_one_benchmark_are_refused(own: Callable[[str], None], tmp_path: Path) -> None:
    own("")
    (tmp_path / "own_package-1.0.dist-info/entry_points.txt").write_text(
        "[nightjar.benchmarks]\nprotoqa = own_benchmark:Own\n"
    )
    with pytest.raises(NightjarError, match=r"two benchmarks have this name: .*protoqa"):
        registry.names()


@pytest.mark.parametrize("name", registry.OWN)
def test_nightjars_own_benchmarks_are_held_to_the_same(name: str) -> None:
    kind = type(registry.load_benchmark(name))
    assert registry.instance_of(kind, name, "here").metrics == kind.metrics
