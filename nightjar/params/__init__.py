"""The settings of params.yaml as frozen, checked models: one file a group. Configuration enters Nightjar here.

    from nightjar.params import Params, load

`load` reads and checks params.yaml, `validate` checks a mapping of the same form. Both give `Params`.
"""

from typing import TYPE_CHECKING

from nightjar.core.startup import lazy

if TYPE_CHECKING:
    from nightjar.params.root import Params, load, validate

__all__ = ["Params", "load", "validate"]

__getattr__, __dir__ = lazy(__name__)
