"""The table of all benchmarks, from benchmarks that are run as processes."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from bench import __main__ as table

BENCHMARK = """
import sys
from bench.harness import report
report("sums", "one by one", "processor", [2.0, 3.5], "the same sums")
report("products", "one by one", "clock", 4.0)
sys.exit(int(sys.argv[1]))
"""


def test_each_ratio_is_a_row_and_a_failure_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "made_benchmark.py").write_text(BENCHMARK, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(
        table, "BENCHMARKS", {"good": ("made_benchmark", "0"), "bad": ("made_benchmark", "3")}
    )
    output = tmp_path / "bench.md"
    assert table.main(["--output", str(output)]) == 1
    text = output.read_text(encoding="utf-8")
    assert "| good | sums | one by one | 2.00 to 3.50 | processor | the same sums |" in text
    assert "| good | products | one by one | 4.00 | clock |  |" in text
    assert "Not measured: bad: exit status 3." in text
    assert text in capsys.readouterr().out


@pytest.mark.parametrize("name", table.BENCHMARKS)
def test_a_benchmark_of_the_table_is_a_module_that_records(name: str) -> None:
    found = importlib.util.find_spec(table.BENCHMARKS[name][0])
    assert found is not None and found.origin is not None
    assert "report(" in Path(found.origin).read_text(encoding="utf-8")
