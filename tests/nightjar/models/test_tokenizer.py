"""Tokenizers against those of transformers, id by id, and what they load to get there."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend
from transformers import AutoTokenizer, LlamaConfig, PreTrainedTokenizerFast

from nightjar.core.errors import NightjarError
from nightjar.models import tokenizer as tokenizer_module
from nightjar.models.tokenizer import Tokenizer, is_encoder_decoder, load_tokenizer
from nightjar.prompts import gpt2_bpe
from tests.conftest import ROOT
from tests.tiny_models import END

# Letters of several scripts, blanks, a special token written out, joined characters.
TEXTS = [
    "",
    " ",
    "a",
    "Input: a\n\nOutput:",
    f"x {END} y",
    "Zürich 南京 \u0000\ufeff",
    "  two  blanks ",
    "é\u0301👩‍👩‍👧",
]


@pytest.fixture(scope="session")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model directory with GPT-2's tokenizer and no weights."""
    folder = tmp_path_factory.mktemp("gpt2")
    made = PreTrainedTokenizerFast(tokenizer_object=gpt2_bpe.load(), eos_token="<|endoftext|>")
    made.save_pretrained(folder)
    LlamaConfig(architectures=["LlamaForCausalLM"]).save_pretrained(folder)
    return folder


SMOLLM2 = pytest.param("smollm2", marks=pytest.mark.slow)


@pytest.fixture(params=["tiny_model", "tiny_t5", "gpt2", SMOLLM2])
def folder(request: pytest.FixtureRequest) -> Path:
    return Path(request.getfixturevalue(request.param))


@pytest.fixture()
def no_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where transformers is asked: the tests themselves have it loaded."""
    monkeypatch.delattr(tokenizer_module, "_by_transformers")


def _theirs(folder: Path) -> Any:
    return AutoTokenizer.from_pretrained(str(folder), local_files_only=True)


def _same(folder: Path, texts: list[str]) -> None:
    _equal(load_tokenizer(folder), _theirs(folder), texts)


def _equal(ours: Tokenizer, theirs: Any, texts: list[str]) -> None:
    for text in texts:
        ids = theirs.encode(text, add_special_tokens=ours.encoder_decoder)
        assert ours.encode(text) == ids
        back = theirs.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        assert ours.decode(ids) == back
        marked = theirs(text, add_special_tokens=False, return_offsets_mapping=True)
        assert ours.encode_with_offsets(text) == (marked["input_ids"], marked["offset_mapping"])
    assert ours.end == theirs.eos_token_id


@pytest.mark.usefixtures("no_transformers")
def test_a_directory_whose_tokenizer_json_says_everything_is_read_without_transformers(folder: Path) -> None:
    _same(folder, TEXTS)
    theirs = _theirs(folder)
    ids = theirs(
        "a", add_special_tokens=False
    )  # transformers switches truncation and padding off at first use
    assert ids and load_tokenizer(folder).backend.to_str() == theirs.backend_tokenizer.to_str()


@pytest.fixture(scope="module")
def both(gpt2: Path) -> tuple[Tokenizer, Any]:
    return load_tokenizer(gpt2), _theirs(gpt2)


@given(st.lists(st.text(max_size=40), max_size=5))
def test_any_text(both: tuple[Tokenizer, Any], texts: list[str]) -> None:
    _equal(*both, texts)


@pytest.mark.usefixtures("no_transformers")
@pytest.mark.parametrize("model", ["gpt2", SMOLLM2])
def test_real_texts(model: str, request: pytest.FixtureRequest, task_files: list[Path]) -> None:
    step = max(1, len(task_files) // 60)
    texts = []
    for file in task_files[::step]:
        task = json.loads(file.read_text("utf-8"))
        texts += [task["Definition"][0], *(row["input"] for row in task["Instances"][:5])]
    assert len(texts) > 100
    _same(Path(request.getfixturevalue(model)), texts)


def _edited(name: str, *lost: str, **values: Any) -> Callable[[Path], object]:
    """Change keys of a JSON file of a directory."""

    def apply(folder: Path) -> None:
        held = json.loads((folder / name).read_text()) if (folder / name).exists() else {}
        kept = {key: value for key, value in held.items() if key not in lost}
        (folder / name).write_text(json.dumps(kept | values))

    return apply


CONFIG = "tokenizer_config.json"
CUT = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
# What transformers makes of a directory beyond its tokenizer.json.
BEYOND: dict[str, Callable[[Path], object]] = {
    "a class of its own": _edited(CONFIG, tokenizer_class="GPT2Tokenizer"),
    "no class": _edited(CONFIG, "tokenizer_class"),
    "a special token that the file lacks": _edited(CONFIG, bos_token="<begin>"),
    "more special tokens": _edited(CONFIG, extra_special_tokens=["<more>"]),
    "a word that becomes special": _edited(CONFIG, eos_token="Input"),
    "special tokens as text": _edited(CONFIG, split_special_tokens=True),
    "an older file of special tokens": _edited("special_tokens_map.json", eos_token="Output"),
    "an older file of added tokens": _edited("added_tokens.json", **{"<added>": 319}),
    "truncation": _edited("tokenizer.json", truncation=CUT),
}


@pytest.mark.parametrize("case", BEYOND)
def test_other_directories_give_what_transformers_gives(case: str, tiny_model: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_model, tmp_path / "model")
    BEYOND[case](folder)
    _same(folder, [*TEXTS, "x<begin>y <more> Input Output <added>"])


def test_whether_a_model_is_an_encoder_decoder(tiny_model: Path, tiny_t5: Path, tmp_path: Path) -> None:
    assert (is_encoder_decoder(tiny_model), is_encoder_decoder(tiny_t5)) == (False, True)
    # A configuration that names neither: transformers knows what its model type is.
    for model_type, expected in (("t5", True), ("llama", False)):
        (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}))
        assert is_encoder_decoder(tmp_path) == expected


def test_errors(tiny_model: Path, tmp_path: Path) -> None:
    with pytest.raises(NightjarError, match="no tokenizer in this model directory"):
        load_tokenizer(tmp_path)
    folder = shutil.copytree(tiny_model, tmp_path / "model")
    whole = (folder / "tokenizer.json").read_text()
    for damaged in ("{", "{}", whole[: len(whole) // 2]):
        (folder / "tokenizer.json").write_text(damaged)
        with pytest.raises(NightjarError) as caught:
            load_tokenizer(folder)
        assert "tokenizer" in str(caught.value)
    (folder / "tokenizer.json").write_text(whole)
    _edited(CONFIG, "eos_token")(folder)
    with pytest.raises(NightjarError, match="no end-of-text token"):
        load_tokenizer(folder)
    (folder / "config.json").write_text("{")
    with pytest.raises(NightjarError, match=r"config\.json"):
        is_encoder_decoder(folder)


def test_neither_torch_nor_transformers_is_loaded(tiny_model: Path, tiny_t5: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from nightjar.models.tokenizer import load_tokenizer\n"
        "for folder in sys.argv[1:]: print(load_tokenizer(Path(folder)).encode('Input: a'))\n"
        "print({'torch', 'transformers'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", code, str(tiny_model), str(tiny_t5)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    backends = [Backend.from_file(str(folder / "tokenizer.json")) for folder in (tiny_model, tiny_t5)]
    ids = [str(one.encode("Input: a").ids) for one in backends]
    assert (done.stdout.splitlines(), done.stderr) == ([*ids, "set()"], "")
