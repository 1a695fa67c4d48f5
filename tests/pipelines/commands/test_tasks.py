"""nightjar tasks: the list of benchmarks, and the check of a task file, line by line."""

from __future__ import annotations

import json
from pathlib import Path

from pipelines.cli import main
from tests.in_process import captured, nightjar

TASK = r"""name: sums
data: sums.jsonl
prompt: "{{ question }}\nAnswer:"
references: ["{{ answer }}"]
stop: ["\n"]
"""


def test_the_check_names_lines_of_the_file_and_of_its_data_and_shows_a_prompt(workdir: Path) -> None:
    Path("my.yaml").write_text(TASK)
    Path("sums.jsonl").write_text('{"question": "1 + 1?", "answer": 2}\n\nno JSON\n{"question": "2 + 2?"}\n')
    done = captured(main, ["tasks", "--check", "my.yaml"])
    assert (done.returncode, done.stderr) == (1, "")
    *rejected, last = [
        line for line in done.stdout.splitlines() if line.startswith("sums.jsonl") or "faults" in line
    ]
    assert [line.partition(": ")[0] for line in rejected] == ["sums.jsonl:3", "sums.jsonl:4"]
    assert last == "1 questions, 2 rows rejected, 0 faults"
    assert "--- prompt\n1 + 1?\nAnswer:\n--- stop\n'\\n'\n--- references\n'2'\n---\n" in done.stdout
    Path("my.yaml").write_text(TASK.replace("prompt", "promt") + "extra: 1\n")
    told = captured(main, ["tasks", "--check", "my.yaml"]).stdout.splitlines()
    assert [line.partition(";")[0] for line in told[:2]] == [
        "my.yaml:3: unknown key promt",
        "my.yaml:6: unknown key extra",
    ]


def test_the_list_has_every_benchmark(workdir: Path) -> None:
    assert "protoqa" in [row["benchmark"] for row in json.loads(nightjar("tasks", "--json"))]


def test_the_check_counts_the_questions_with_cross_lingual_tokens(workdir: Path) -> None:
    text = (
        'name: words\ndata: rows.jsonl\nprompt: "{{ word }}"\nreferences: "{{ answer }}"\nmetric: rouge_l\n'
    )
    Path("task.yaml").write_text(text)
    rows = [{"word": "house", "answer": "maison"}, {"word": "house", "answer": "บ้าน"}]
    Path("rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    done = captured(main, ["tasks", "--check", "task.yaml"])
    assert "rouge_l takes the cross-lingual tokens for 1 of 2 questions\n" in done.stdout
    Path("rows.jsonl").write_text(f"{json.dumps(rows[0])}\n")
    assert "cross-lingual" not in captured(main, ["tasks", "--check", "task.yaml"]).stdout
