"""Errors, files, Parquet tables, contracts and parameters: what every other layer uses.

An artifact is a folder of tables. `contracts` has the schema of each table, `ArtifactWriter` writes them, `read` (an
Arrow table) and `read_rows` (dictionaries) read one, `check` says what is wrong with an artifact. `load_params` reads
params.yaml. Every mistake in what a user gives is a `NightjarError` of one line.
"""

from typing import TYPE_CHECKING

from nightjar.core.startup import lazy

if TYPE_CHECKING:
    from nightjar.core import contracts
    from nightjar.core.checks import check
    from nightjar.core.errors import NightjarError
    from nightjar.core.tables import ArtifactWriter, batches, read, read_rejected, read_rows
    from nightjar.params import Params
    from nightjar.params import load as load_params

__all__ = [
    "ArtifactWriter",
    "NightjarError",
    "Params",
    "batches",
    "check",
    "contracts",
    "load_params",
    "read",
    "read_rejected",
    "read_rows",
]

__getattr__, __dir__ = lazy(__name__)
