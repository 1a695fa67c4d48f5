"""The stage ingest with an encoding of the parameters."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tests.in_process import run_stage
from tests.nightjar.benchmarks.benchmark_project import ROOT, configure

BENCHMARK = "classification"


def test_encodings_come_from_the_parameters(workdir: Path) -> None:
    configure(workdir, BENCHMARK, source=f"data/sample/{BENCHMARK}", encodings={"subj.*": "utf-8"})
    shutil.copytree(ROOT / "data/sample" / BENCHMARK, workdir / "data/sample" / BENCHMARK)
    done = run_stage("ingest", BENCHMARK)
    assert done.returncode == 2
    told = r"subj\.subjective:\d+: not utf-8 \(byte \d+ of the line, 0x\w\w\); set ingest.classification.encodings to "
    assert re.search(told + r'\{"subj\.subjective": latin-1\}', done.stderr), done.stderr
