"""Models of every family answer as plain transformers does, whichever engine they run through."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch

from nightjar.core.errors import NightjarError
from nightjar.models.directory.preparation import check_complete
from nightjar.models.directory.pretrained import check_decoder
from nightjar.models.engine.equality import attention_windows, choose_engine
from nightjar.models.engine.generation import generate
from nightjar.models.engine.language_model import Engine, LanguageModel
from nightjar.models.engine.loading import count_work
from nightjar.models.engine.log_probabilities import Continuation, continuation_sums, text_loss
from nightjar.models.engine.packed_attention import ATTENTION
from nightjar.models.engine.sample_trees import stream_samples
from nightjar.models.engine.sampling import Sampling
from nightjar.models.engine.sequences import Prompt
from nightjar.models.engine.text_trees import SampledText, SampleStart, TextTrees
from tests.tiny_families import PER_LAYER, build, configuration, families

BOTH_WAYS = frozenset({"cpmant", "prophetnet", "xlm", "xlnet"})
# The engine of some families: attention over rows; its own, over a padded batch; recurrent states and positions that no
# argument shifts; and windows that are fixed when the model is made, which no short text shows.
ENGINES = {
    **dict.fromkeys(("llama", "gpt2", "qwen3_moe", "bert", "dbrx"), Engine.ROWS),
    **dict.fromkeys(
        ("gpt_oss", "llama4_text", "jetmoe", "mistral", "gemma2", "gptj", "bloom"), Engine.PADDED
    ),
    **dict.fromkeys(("falcon", "gemma3", "gemma4"), Engine.PADDED),
    **dict.fromkeys(("mamba", "mamba2", "zamba", "zamba2", "rwkv", "xlstm", "jamba", "lfm2"), Engine.CACHED),
    **dict.fromkeys(("qwen3_next", "kimi_linear", "falcon_h1", "minimax", "roberta", "bart"), Engine.CACHED),
    **dict.fromkeys(("doge", "bamba", "openai-gpt", "recurrent_gemma", "gpt_neo", "blt"), Engine.PLAIN),
}


# Of each way to read a tree: by masks, and as texts where windows, positions of columns or states do not allow that.
TREES = (
    "llama", "gptj", "falcon", "mistral", "gemma2", "gpt_oss", "llama4_text", "gemma3n_text", "bloom", "mpt", "whisper",
    "mamba", "lfm2",
)  # fmt: skip


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def logits(model: Any, ids: Sequence[int]) -> torch.Tensor:
    """The logits behind each token, by a forward of transformers with its own attention."""
    with torch.inference_mode():
        table: torch.Tensor = model(input_ids=torch.tensor([list(ids)])).logits[0].float()
    return table


def logprob(model: Any, ids: Sequence[int], first: int) -> float:
    """Of the tokens from the place `first` on."""
    table = logits(model, ids).log_softmax(-1)
    return sum(float(table[place - 1, ids[place]]) for place in range(first, len(ids)))


def of_family(family: str, llama: LanguageModel, **settings: Any) -> tuple[LanguageModel, Any]:
    """A model with the engine that is chosen for it, and the same model as transformers runs it."""
    model = build(family, **settings)
    lm = replace(llama, model=deepcopy(model), engine=Engine.PADDED)
    return replace(lm, engine=choose_engine(lm, Path("model"))), model


def check(lm: LanguageModel, exact: Any, plain: Any = None) -> None:
    """Choices, the loss of a text and greedy texts, of rows of unlike lengths.

    They are those of the model `exact` in float32. With `plain`, the model in another precision, they differ from
    `exact` by as much as plain transformers does, up to twice. A token is written that is the likeliest but for that.
    """
    prompts = [[5, 6, 7, 8, 9, 10, 11, 12, 13], [5, 6, 14, 15], [16, 17, 18, 19, 20, 21, 22, 23]]
    groups = [[Continuation((*ids, *more), len(ids)) for more in ((30, 31), (32,))] for ids in prompts]
    scored = [one for group in groups for one in group]
    sums = [total for _, totals in sorted(continuation_sums(lm, groups)) for total in totals]
    text = list(range(40, 71))
    loss = text_loss(lm, text, 64)

    def differences(choices: Sequence[float], loss: float) -> tuple[float, float]:
        pairs = zip(choices, (logprob(exact, *one) for one in scored), strict=True)
        return rms([first - second for first, second in pairs]), abs(loss + logprob(exact, text, 1))

    allowed = (1e-3, 0.03)
    if plain is not None:
        usual = differences([logprob(plain, *one) for one in scored], -logprob(plain, text, 1))
        allowed = (2 * usual[0] + 1e-3, 2 * usual[1] + 0.03)
    found = differences(sums, loss)
    assert found[0] <= allowed[0] and found[1] <= allowed[1]
    for prompt, answer in zip(prompts, generate(lm, prompts, 5), strict=True):
        written = [*answer.ids, *([] if answer.cut else [lm.tokenizer.end])]
        places = slice(len(prompt) - 1, -1)
        table = logits(exact, [*prompt, *written])[places]
        rounding = 0.0
        if plain is not None:
            rounding = float((logits(plain, [*prompt, *written])[places] - table).abs().max())
        behind = table.max(-1).values - table.gather(1, torch.tensor(written)[:, None])[:, 0]
        # Two logits differ from the exact ones, by twice as much as those of plain transformers.
        assert float(behind.max()) <= 4 * rounding + 1e-3
        assert len(written) == 5 or not answer.cut


def alone(lm: LanguageModel, model: Any, ids: Sequence[int], seed: str) -> SampledText:
    """A sample of at most 5 tokens, the whole text read again for each."""
    random, written = Random(seed), list[int]()
    while len(written) < 5:
        chances = logits(model, [*ids, *written])[-1].softmax(-1).double().cumsum(-1)
        token = int(torch.searchsorted(chances, random.random() * float(chances[-1]), right=True))
        if token == lm.tokenizer.end:
            break
        written.append(token)
        text, stop, _ = lm.tokenizer.decode(written).partition("]")
        if stop:
            return SampledText(text, True)
    return SampledText(lm.tokenizer.decode(written), False)


def rms(values: Sequence[float]) -> float:
    return math.sqrt(math.fsum(value * value for value in values) / len(values))


# The families of known engines stand for the others in the quick tests.
DECODERS = [
    pytest.param(name, marks=() if name in ENGINES else pytest.mark.slow)
    for name in families()
    if name not in BOTH_WAYS
]


@pytest.mark.parametrize("family", DECODERS)
def test_a_family_answers_as_plain_transformers(family: str, llama: LanguageModel) -> None:
    """In float32; and in bfloat16, which plain transformers rounds too, with each engine of the table."""
    lm, model = of_family(family, llama)
    assert lm.engine is ENGINES.get(family, lm.engine)
    check(lm, model)
    if family not in ENGINES:
        return
    short = build(family, torch.bfloat16)
    model.load_state_dict(short.state_dict())
    lm = replace(lm, model=deepcopy(short))
    if lm.engine is Engine.ROWS:
        lm.model.set_attn_implementation(ATTENTION)
    check(lm, model, short)


@pytest.mark.parametrize("family", ["mamba2", "lfm2", "rwkv"])
def test_a_token_more_is_one_token_read_and_samples_have_states_of_their_own(
    family: str, llama: LanguageModel
) -> None:
    lm, model = of_family(family, llama)
    prompt = list(range(5, 25))
    with count_work(lm) as work:
        (answer,) = generate(lm, [prompt], 6)
    # The last token is not read.
    assert work.tokens == len(prompt) + (len(answer.ids) - 1 if answer.cut else len(answer.ids))

    def generators(row: int) -> torch.Generator:
        return torch.Generator().manual_seed(row)

    sampling = Sampling(1.0, generators)
    ((_, texts),) = stream_samples(lm, [Prompt(0, prompt, 6)], 4, sampling)
    for number, text in enumerate(texts):
        generator, written = generators(number), list[int]()
        for _ in text.ids or range(6):
            (token,) = sampling.draw(logits(model, [*prompt, *written])[-1:], [generator])
            if token == lm.tokenizer.end:
                break
            written.append(token)
        assert text.text == lm.tokenizer.decode(written)


@pytest.mark.parametrize("family", TREES)
def test_samples_of_a_tree_are_those_of_texts_read_alone(family: str, llama: LanguageModel) -> None:
    """Also where they are longer than a window of attention."""
    rows = [(list(range(5, 15)), list(range(20, 26))), (list(range(5, 12)), list(range(30, 34)))]
    beginnings = [SampleStart(0, 12, ["a", "b", "c"]), SampleStart(1, 9, ["d", "e", "f"])]
    lm, model = of_family(family, llama, **dict.fromkeys(attention_windows(configuration(family)), 8))
    tree = TextTrees(lm, rows, None)
    for (context, text), values in zip(rows, tree.probabilities(3), strict=True):
        table = logits(model, [*context, *text]).softmax(-1)[len(context) - 1 : -1, 3]
        assert values == pytest.approx(table.tolist(), rel=1e-3)
    results = tree.sample(beginnings, 3, 1.0, 5, "]", lambda text: True)
    for one, samples in zip(beginnings, results, strict=True):
        ids = [*rows[one.row][0], *rows[one.row][1]][: one.length]
        for seed, sample in zip(one.seeds, samples, strict=True):
            assert sample == alone(lm, model, [*ids, 3], seed)


@pytest.mark.parametrize("family", sorted(BOTH_WAYS))
def test_what_reads_both_ways_is_no_decoder(family: str, llama: LanguageModel) -> None:
    told = "is no decoder: a token sees those that come after it"
    with pytest.raises(NightjarError, match=told):
        of_family(family, llama)
    with pytest.raises(NightjarError, match=told):
        check_decoder(build(family), Path("model"))


@pytest.mark.parametrize(
    ("family", "settings"),
    [
        *((name, {"is_decoder": False}) for name in ("bert", "roberta", "electra", "bert-generation")),
        ("llama", {"is_causal": False}),
        ("gemma3_text", {"use_bidirectional_attention": True}),
        ("gemma4", {"text_config": {**PER_LAYER, "use_bidirectional_attention": "all"}}),
    ],
)
def test_what_reads_both_ways_by_its_configuration_is_refused_before_its_values_are_read(
    family: str, settings: dict[str, Any], tiny_model: Path, tmp_path: Path
) -> None:
    build(family, **settings).save_pretrained(tmp_path)
    for file in tiny_model.glob("tokenizer*"):
        shutil.copy(file, tmp_path)
    with pytest.raises(NightjarError, match="is no decoder"):
        check_complete(tmp_path)


@pytest.mark.parametrize("family", ["gpt_oss", "mistral", "llama4_text", "mamba"])
def test_in_bfloat16_the_same_engine_answers(family: str, llama: LanguageModel) -> None:
    """Compared in float32; the model has its own tensors afterwards."""
    model = build(family).bfloat16()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    lm = replace(llama, model=model, engine=Engine.PADDED)
    assert choose_engine(lm, Path("model")) is of_family(family, llama)[0].engine
    after = model.state_dict()
    assert all(
        torch.equal(after[name], value) and after[name].dtype is value.dtype for name, value in before.items()
    )


@pytest.mark.parametrize("name", ["dynamic", "longrope"])
def test_positions_that_depend_on_the_longest_row_are_read_alone(name: str, llama: LanguageModel) -> None:
    scaling: dict[str, Any] = {"rope_type": name, "rope_theta": 10000.0, "factor": 2.0}
    if name == "longrope":
        scaling |= {
            "short_factor": [1.0] * 4,
            "long_factor": [2.0] * 4,
            "original_max_position_embeddings": 64,
        }
    lm, _ = of_family("llama", llama, rope_parameters=scaling)
    assert lm.engine is Engine.PLAIN
