"""Predictions of one system: the untuned model, or one trained by a recipe, which says what its prompts carry."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stages.lm.load import LanguageModel
from stages.params import Encoding, PredictBenchmark
from stages.prompts.causal import prompt
from stages.tools.calendar import find_date
from stages.tools.decode import answer


def predict(
    lm: LanguageModel,
    instances: Sequence[Mapping[str, Any]],
    tasks: Mapping[str, Mapping[str, Any]],
    evidence: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]],
    passages: int,
    calls: bool,
    options: Encoding,
    settings: PredictBenchmark,
    report: Callable[[int], None],
) -> list[dict[str, Any]]:
    """Rows of contracts.PREDICTIONS without benchmark and system, in the order of `instances` (contracts.TEST).

    Instances of one task share definition and examples, so a batch is of one task, of like lengths. `report` is told
    how many are done after each batch. With `calls` the model may call tools; the calendar tells the day that the
    instance's own input names, and has no answer where it names none.
    """
    texts = [
        prompt(
            tasks[row["task_id"]],
            row["input"],
            options,
            lm.tokenizer,
            evidence.get((row["task_id"], row["id"]), ())[:passages],
        )
        for row in instances
    ]
    prompts = [lm.tokenizer.encode(text) for text in texts]
    order = sorted(range(len(instances)), key=lambda n: (instances[n]["task_id"], len(prompts[n]), n))
    rows: list[dict[str, Any]] = [{} for _ in instances]
    done = 0
    while done < len(order):
        task_id = instances[order[done]]["task_id"]
        chosen = [n for n in order[done : done + settings.batch_size] if instances[n]["task_id"] == task_id]
        answers = answer(
            lm,
            [prompts[n] for n in chosen],
            [find_date(instances[n]["input"]) for n in chosen],
            settings.max_new_tokens,
            settings.stop,
            settings.call_top_k if calls else 0,
            settings.max_calls,
        )
        for n, given in zip(chosen, answers, strict=True):
            row = instances[n]
            rows[n] = {
                "track": row["track"],
                "category": row["category"],
                "task_id": row["task_id"],
                "id": row["id"],
                "prediction": given.prediction,
                "text": given.text,
                "calls": [
                    {"tool": c.call.tool, "input": c.call.input, "result": c.result} for c in given.calls
                ],
                "prompt": texts[n],
                "prompt_sha256": hashlib.sha256(texts[n].encode()).hexdigest(),
                "prompt_tokens": len(prompts[n]),
                "new_tokens": given.tokens,
                "model_sha256": lm.sha256,
                "adapter_sha256": lm.adapter_sha256,
            }
        done += len(chosen)
        report(done)
    return rows
