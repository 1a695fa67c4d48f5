"""A stage that runs no model loads none of the large libraries: each would cost every process seconds."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT

# Everything that the modules of a stage import, at their top or inside a function, is imported in a process of its own.
CODE = """
import ast, importlib, sys
from pathlib import Path
for file in sorted(Path("stages", sys.argv[1]).glob("*.py")):
    importlib.import_module(".".join(file.with_suffix("").parts).removesuffix(".__init__"))
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                importlib.import_module(alias.name)
        elif isinstance(node, ast.ImportFrom) and node.module != "__future__":
            module = importlib.import_module(node.module)
            for alias in node.names:
                getattr(module, alias.name, None) or importlib.import_module(f"{node.module}.{alias.name}")
print(sorted({"torch", "transformers", "faiss", "pandas", "prefect"} & set(sys.modules)))
"""


@pytest.mark.parametrize(
    "stage", ["ingest", "split", "contamination", "augment_merge", "encode", "evaluate", "report"]
)
def test_large_libraries_are_not_loaded(stage: str) -> None:
    done = subprocess.run([sys.executable, "-c", CODE, stage], cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")
