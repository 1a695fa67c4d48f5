"""Write the sample, from the project's root: `python -m data.sample_generator [--output DIR] [--seed N]`."""

from __future__ import annotations

import argparse
from pathlib import Path

from data.sample_generator.build import SEED, sample_files
from data.sample_generator.classification import encoding


def main() -> None:
    """Write every file of the sample and remove task files of an earlier run that are no longer made."""
    parser = argparse.ArgumentParser(prog="python -m data.sample_generator", description=__doc__)
    parser.add_argument("--output", type=Path, default=Path(__file__).resolve().parents[1] / "sample")
    parser.add_argument("--seed", type=int, default=SEED)
    arguments = parser.parse_args()
    files = sample_files(arguments.seed)
    for old in (arguments.output / "natural_instructions" / "tasks").glob("task*.json"):
        if str(old.relative_to(arguments.output)) not in files:
            old.unlink()
    for name, text in files.items():
        path = arguments.output / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode(encoding(name)))
    size = sum(len(text.encode(encoding(name))) for name, text in files.items())
    print(f"{len(files)} files, {size / 1e6:.2f} MB, in {arguments.output}")


if __name__ == "__main__":
    main()
