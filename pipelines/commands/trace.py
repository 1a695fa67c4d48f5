"""The command `trace`: a prediction back to its raw line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from pipelines.commands.console import say, say_text
from pipelines.commands.options import printed


def _print(found: dict[str, Any]) -> None:
    question, raw = found["question"], found["raw"]
    kind = ", ".join(filter(None, (found["benchmark"], question["category"], question["track"])))
    say(f"{found['task_id']}:{found['id']}  ({kind})")
    for row in found["predictions"]:
        say()
        say(f"{row['system']}: {', '.join(map(repr, row['answers'])) or 'no answer'}")
        for it in row["calls"]:
            say(f"    call {it['tool']}({it['input']}) → {it['result']}")
        adapter = f", adapter {row['adapter_sha256'][:12]}" if row["adapter_sha256"] else ""
        seconds = "" if row["seconds"] is None else f", {row['seconds']:.2f} s"
        say(f"    model {row['model_sha256'][:12]}{adapter}; {row['new_tokens']} tokens{seconds}")
        say(
            f"    {row['artifact']}; prompt {row['prompt_sha256'][:12]}, {row['prompt_tokens']} tokens"
            f"{'' if row['prompt_intact'] else ', which is not the hash of the prompt that is stored'}"
        )
    say()
    say(f"references: {json.dumps(question['references'], ensure_ascii=False)}")
    for row in found["evidence"]:
        seen = ", ".join(row["systems"]) or "nobody"
        line = f":{row['raw']['line']}" if row["raw"] and row["raw"]["line"] else ""
        where = f"; {row['raw']['path']}{line} sha256 {row['raw']['sha256']}" if row["raw"] else ""
        say(
            f"evidence {row['rank']}{_moved(row)}: {row['document_id']} {row['title']!r} "
            f"(score {row['score']:.3f}), in the prompt of {seen}{where}"
        )
    say()
    say(f"prompt ({found['predictions'][0]['system']}):")
    say_text(found["predictions"][0]["prompt"])
    say()
    line = f":{raw['line']}" if raw["line"] else f" ({raw['note']})"
    say(f"raw: {raw['path'] or 'none'}{line}  sha256 {raw['sha256'] or 'none'}")
    for path, entry in found["artifacts"].items():
        say(f"dvc.lock: {path}  {entry['hash']}  ({entry['stage']})")


def _moved(row: dict[str, Any]) -> str:
    """The ranking of a passage, its rank before and its label, where it has them."""
    if "before" not in row:
        return ""
    before = f", before {row['before']['rank']} ({row['before']['score']:.3f})" if row["before"] else ""
    same = "consistent" if row["consistent"] else "not consistent"
    label = f", {row['label']}: {same}" if row["label"] is not None else ""
    return f" of {row['artifact']}{before}{label}"


@click.command()
@click.argument("id")
@click.option("--system", help="Only this system, such as combined.")
@click.option("--benchmark", help="Only this benchmark, where several have the ID.")
@printed(_print)
def trace(id: str, system: str | None, benchmark: str | None) -> dict[str, Any]:
    """Follow the prediction for the question ID (or TASK_ID:ID) back to the raw line it came from.

    \b
    Example:
      nightjar trace task1344-0a1b2c
      nightjar trace task1344_rte:task1344-0a1b2c --system combined --json
    """
    from pipelines.versions.trace import trace as walk

    return walk(Path(), id, system, benchmark)
