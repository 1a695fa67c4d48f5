"""Text templates and encodings: what a model reads, exact to the character.

`encode` gives the published input text of a Super-NaturalInstructions instance under an `Encoding`, `model_input` the
same with retrieved evidence, `model_target` the answer to be learnt. `named` is an encoding by its name, `variants` the
five of Tk-Instruct's mixed training. Lengths are counted by any `PromptTokenizer`; `Gpt2Bpe` is one.
"""

from typing import TYPE_CHECKING

from nightjar.core.startup import lazy

if TYPE_CHECKING:
    from nightjar.params.data import Encoding
    from nightjar.prompts.encoding import Encoded, PromptTokenizer, encode
    from nightjar.prompts.encodings import encode_instance, named, tsv_lines, variants
    from nightjar.prompts.gpt2_bpe import Gpt2Bpe
    from nightjar.prompts.model_text import evidence_block, model_input, model_target

__all__ = [
    "Encoded",
    "Encoding",
    "Gpt2Bpe",
    "PromptTokenizer",
    "encode",
    "encode_instance",
    "evidence_block",
    "model_input",
    "model_target",
    "named",
    "tsv_lines",
    "variants",
]

__getattr__, __dir__ = lazy(__name__)
