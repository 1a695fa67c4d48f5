"""Exact match, ROUGE-1 and ROUGE-L of Super-NaturalInstructions (compute_metrics.py), equal to the published values.

Large inputs are cut into chunks; helper processes take some of them, this process the others. What comes out
does not depend on who did what. A helper is a Python of its own that talks through pipes, so it works from any
program, also from one that could not be started twice; if one dies, its chunk is done here.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nightjar.benchmarks.text import chunk
from nightjar.benchmarks.text.chunk import METRICS, XLINGUAL, Scores, normalise
from nightjar.core.arguments import check_lists, check_texts
from nightjar.core.errors import NightjarError

__all__ = ["METRICS", "XLINGUAL", "Scores", "normalise", "score"]

# Letters of a chunk, enough that its fixed costs do not count. A helper's start takes as many processor seconds as
# 4 to 5 million letters; below so many for each process it saves little time for what it costs.
CHUNK = 1_000_000
WORTH_A_PROCESS = 8_000_000
_PAIRS = 10_000
# What a helper says when it can take a chunk.
_READY = b"r"
_ROOT = Path(__file__).parents[3]

Span = tuple[int, int]


def score(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    track: str = "default",
    processes: int | None = None,
) -> Scores:
    """Scores of predictions against one or more references each, the best reference chosen for each metric.

    `track` "xlingual" takes the cross-lingual tokens, any other the English ones. `processes`: at most so many
    (None: as many as there are cores, or one where those are busy). Raises NightjarError if a prediction has no
    reference, or one of both is not a list of texts.
    """
    check_texts(predictions, "predictions")
    check_lists(references, "references")
    if len(predictions) != len(references) or not all(references):
        what = f"{len(predictions)} predictions, and {sum(map(bool, references))} lists of references"
        raise NightjarError(what, "score", "every prediction needs at least one reference")
    spans, letters = _spans(predictions, references)
    results = np.zeros((len(METRICS), len(predictions)))
    waiting = deque(spans)

    def work(span: Span) -> None:
        found = chunk.score(predictions[slice(*span)], references[slice(*span)], track)
        for row, metric in enumerate(METRICS):
            results[row, slice(*span)] = getattr(found, metric)

    busy: set[Span] = set()  # what helpers are at; put in before it leaves `waiting` for good

    def serve(pipes: subprocess.Popen[bytes]) -> None:
        assert pipes.stdout is not None
        taken: Span | None = None
        try:
            # A helper that is not up yet takes nothing: on a busy machine all may be done before it is.
            while pipes.stdout.read(1) == _READY and waiting:
                with taking:
                    taken = waiting.popleft()
                    busy.add(taken)
                request = (track, predictions[slice(*taken)], references[slice(*taken)])
                results[:, slice(*taken)] = _ask(pipes, request)
                busy.discard(taken)
                taken = None
        except IndexError:  # another was quicker
            return
        except (OSError, ValueError):
            if taken is not None:
                waiting.append(taken)
                busy.discard(taken)

    if processes is None:
        processes = len(os.sched_getaffinity(0))
        if (
            os.getloadavg()[0] >= processes
        ):  # others use them: a helper would only take time from this process
            processes = 1
    count = min(processes, letters // WORTH_A_PROCESS, len(spans))
    taking = threading.Lock()
    helpers = [_helper() for _ in range(count - 1)]
    threads = [threading.Thread(target=serve, args=(helper,), daemon=True) for helper in helpers]
    try:
        for thread in threads:
            thread.start()
        while True:
            with taking:
                span = waiting.pop() if waiting else None
                if span is None and not busy and not waiting:
                    break
            if span is not None:
                work(span)
            else:
                time.sleep(0.002)
    finally:
        for helper, thread in zip(helpers, threads, strict=True):
            helper.kill()
            if thread.ident is not None:
                thread.join()  # it reads to the end of the pipe, which has come
            with contextlib.suppress(OSError), helper:
                pass
    return Scores(*results)


def _spans(predictions: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[list[Span], int]:
    """Runs of pairs of about CHUNK letters, and how many letters there are in all."""
    total = len(predictions)
    if not total:
        return [], 0
    counts = np.fromiter(map(len, references), np.int64, total)
    flat = np.fromiter(map(len, itertools.chain.from_iterable(references)), np.int64, int(counts.sum()))
    own = np.fromiter(map(len, predictions), np.int64, total)
    letters = np.cumsum(own + np.add.reduceat(flat, np.cumsum(counts) - counts))
    spans: list[Span] = []
    start = 0
    while start < total:
        before = int(letters[start - 1]) if start else 0
        end = min(int(np.searchsorted(letters, before + CHUNK)) + 1, start + _PAIRS, total)
        spans.append((start, end))
        start = end
    return spans, int(letters[-1])


def _helper() -> subprocess.Popen[bytes]:
    path = os.pathsep.join([str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(
        [sys.executable, "-m", "nightjar.benchmarks.text.metrics"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path, "TOKENIZERS_PARALLELISM": "false"},
    )


def _ask(
    pipes: subprocess.Popen[bytes], request: tuple[str, Sequence[str], Sequence[Sequence[str]]]
) -> NDArray[np.float64]:
    """A helper's answer. Raises OSError or ValueError if it has died."""
    assert pipes.stdin is not None and pipes.stdout is not None
    # ASCII with escapes: also half a surrogate pair arrives as it is.
    pipes.stdin.write(json.dumps(request).encode() + b"\n")
    pipes.stdin.flush()
    rows, count = len(METRICS), len(request[1])
    values: NDArray[np.float64] = np.frombuffer(pipes.stdout.read(8 * rows * count), np.float64)
    return values.reshape(rows, count)


def _requests() -> Iterator[tuple[str, list[str], list[list[str]]]]:
    for line in sys.stdin.buffer:
        yield tuple(json.loads(line))


if __name__ == "__main__":
    sys.stdout.buffer.write(_READY)
    sys.stdout.buffer.flush()
    for track, predictions, references in _requests():
        found = chunk.score(predictions, references, track)
        sys.stdout.buffer.write(np.stack([getattr(found, metric) for metric in METRICS]).tobytes() + _READY)
        sys.stdout.buffer.flush()
