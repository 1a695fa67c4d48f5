"""Broken files against everything that reads files from outside: it takes them, or refuses them in one line.

    python -m bench.fuzz [--cases 100000] [--seed 1] [--reader NAME]...

Each reader gets mutations of small valid files (bench/mutate.py). It may return, or raise NightjarError with one
line that names the file; anything else is a fault, as is a row that is lost between what goes in and what comes out.
"""

from __future__ import annotations

import logging
import random
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from bench import fuzz_files, fuzz_models
from bench.harness import options, timed
from bench.mutate import FuzzedReader
from nightjar.core.errors import NightjarError

LONGEST_LINE = 2000


@dataclass
class FuzzResult:
    """Outcome of the cases of one reader; `faults` are (case, what was wrong)."""

    accepted: int = 0
    refused: int = 0
    slowest: float = 0.0
    faults: list[tuple[int, str]] = field(default_factory=list)


def run(reader: FuzzedReader, cases: int, seed: int, folder: Path) -> FuzzResult:
    """Give the reader that many broken files, one after the other, in `folder`."""
    result = FuzzResult()
    path = folder / reader.file
    path.parent.mkdir(parents=True, exist_ok=True)
    for case in range(cases):
        path.write_bytes(broken(reader, seed, case))
        done = timed(lambda case=case: _read(reader, path, case, result))  # type: ignore[misc]
        result.slowest = max(result.slowest, done.processor)
    return result


def _read(reader: FuzzedReader, path: Path, case: int, result: FuzzResult) -> None:
    try:
        reader.read(path)
        result.accepted += 1
    except NightjarError as error:
        line = str(error)
        named = any(Path(part).stem in line for part in Path(reader.file).parts)
        if "\n" in line or len(line) > LONGEST_LINE or not named:
            result.faults.append((case, f"not one line that names the file: {line[:300]!r}"))
        result.refused += 1
    except Exception as error:
        result.faults.append((case, f"{type(error).__name__}: {str(error)[:300]}"))


def broken(reader: FuzzedReader, seed: int, case: int) -> bytes:
    """The bytes of one case; the first cases are the valid files themselves."""
    if case < len(reader.seeds):
        return reader.seeds[case]
    rng = random.Random(f"{seed} {reader.name} {case}")
    return reader.mutate(rng.choice(reader.seeds), rng)


def readers() -> list[FuzzedReader]:
    """All of them."""
    return [*fuzz_files.readers(), *fuzz_models.readers()]


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--cases", type=int, default=100_000, help="of all readers together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reader", action="append", help="only this one; may be repeated")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    all_readers = readers()
    chosen = [reader for reader in all_readers if not arguments.reader or reader.name in arguments.reader]
    if not chosen:
        parser.error(f"no such reader; there are: {', '.join(reader.name for reader in all_readers)}")
    total_share = sum(reader.share for reader in chosen)
    faults: list[str] = []
    print("| reader | cases | accepted | refused | faults | slowest, ms |\n|---|---:|---:|---:|---:|---:|")
    for reader in chosen:
        cases = round(arguments.cases * reader.share / total_share)
        with tempfile.TemporaryDirectory() as folder:
            result = run(reader, cases, arguments.seed, Path(folder))
        counts = f"{cases:,} | {result.accepted:,} | {result.refused:,} | {len(result.faults)}"
        print(f"| {reader.name} | {counts} | {1000 * result.slowest:.0f} |", flush=True)
        faults += [f"{reader.name}, case {case}: {what}" for case, what in result.faults]
    print("\n".join(faults[:100]), file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
