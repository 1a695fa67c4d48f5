"""python -m stages.code: data/code, the files that each stage runs, with a digest of each.

Every other stage depends on its file there, and not on code: after an edit this stage runs, and then those whose code
differs. It does without the harness, which loads what takes longer than all of the work.
"""

from __future__ import annotations

import gc
import sys
from pathlib import Path

from nightjar.core import paths
from nightjar.core.config import PARAMS_FILE, read_yaml
from nightjar.core.errors import NightjarError
from nightjar.core.files import folder_output
from stages._runtime.closure import Code


def run() -> None:
    contents = Code(Path()).contents(read_yaml(PARAMS_FILE))
    with folder_output(paths.CODE, foreign=_foreign) as folder:
        for name, text in contents.items():
            (folder / name).write_text(text, encoding="utf-8")


def _foreign(folder: Path) -> str:
    names = sorted(path.name for path in folder.iterdir() if path.suffix != ".json")
    return f"it holds {names[0]}" if names else ""


if __name__ == "__main__":
    gc.disable()  # trees of the syntax are no garbage
    try:
        run()
    except NightjarError as error:
        print(f"nightjar: {error}", file=sys.stderr)
        raise SystemExit(2) from None
