"""Which instances share a batch: made for all of them in advance, so that a resumed run has the same batches.

The last bits of a bfloat16 model depend on what stands beside a row, and with them, now and then, a token.
"""

from __future__ import annotations

from collections.abc import Sequence

from nightjar.core.params import PredictBenchmark
from nightjar.lm.forward import common_length


def plan(
    prompts: Sequence[Sequence[int]],
    tasks: Sequence[str],
    settings: PredictBenchmark,
    encoder_decoder: bool,
) -> list[list[int]]:
    """Batches of row numbers, the longest prompts first; every row stands in exactly one.

    For causal models a batch is of one task, whose instances share definition and examples; an encoder reads every
    prompt whole, so there only the length counts. A batch has at most `batch_size` rows, and with more than one row at
    most `batch_tokens` tokens: what all its rows begin with, and for each row the longest rest and a whole answer.
    """
    order = sorted(
        range(len(prompts)), key=lambda n: ("" if encoder_decoder else tasks[n], -len(prompts[n]), n)
    )
    batches: list[list[int]] = []
    beginning: Sequence[int] = ()
    for row in order:
        ids = prompts[row]
        last = batches[-1] if batches else []
        fits = 0 < len(last) < settings.batch_size and (encoder_decoder or tasks[last[0]] == tasks[row])
        if fits:
            shared = 0 if encoder_decoder else min(common_length([beginning, ids]), len(ids) - 1)
            longest = len(prompts[last[0]])
            tokens = shared + (len(last) + 1) * (longest - shared + settings.max_new_tokens)
            fits = tokens <= settings.batch_tokens
        if fits:
            last.append(row)
            beginning = beginning[:shared]
        else:
            batches.append([row])
            beginning = ids
    return batches
