"""Results of other harnesses: samples of lm-evaluation-harness and logs of inspect_ai, read, compared and continued.

`read_run` reads a run of either, or a folder of `nightjar evaluate`; `compare_runs` tests the differences of runs.
"""

from typing import TYPE_CHECKING

from nightjar.core.startup import lazy

if TYPE_CHECKING:
    from nightjar.harness.run_comparison import compare_runs
    from nightjar.harness.run_reader import read_run
    from nightjar.harness.samples import HarnessRun, Sample, Subject

__all__ = ["HarnessRun", "Sample", "Subject", "compare_runs", "read_run"]

__getattr__, __dir__ = lazy(__name__)
