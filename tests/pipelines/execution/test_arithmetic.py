"""Set-ups of profiles: each source is described, and the cost is that of the published numbers and docs/scaling.md."""

from __future__ import annotations

import functools
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from safetensors.numpy import save_file

from nightjar.core.errors import NightjarError
from nightjar.core.profiles import about, names, values
from pipelines.commands.plan import plan
from pipelines.commands.plan_profile import number
from pipelines.execution import arithmetic, setup
from tests.conftest import ROOT

# Folders that stages write; whatever else a setting names must be supplied, or be in the repository.
MADE = r"models/(base|train|readers)/|data/(ingest|split|augment|augment_merge|index|questions|retrieve|rerank)\b"


def clone(root: Path) -> Path:
    """A project as a fresh clone has it: without data that are not in the repository."""
    shutil.copytree(ROOT / "profiles", root / "profiles")
    shutil.copy(ROOT / "dvc.yaml", root)
    (root / "data").mkdir()
    for folder in ("nightjar", "stages", "data/sample"):
        (root / folder).symlink_to(ROOT / folder)
    return root


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], setup.Setup]:
    return functools.cache(functools.partial(setup.read, clone(tmp_path_factory.mktemp("project"))))


@pytest.fixture(scope="module")
def works(read: Callable[[str], setup.Setup]) -> Callable[[str], dict[str, Any]]:
    return functools.cache(lambda name: arithmetic.works(read(name)))


# Profiles that extend another.
EXTENDING = ("paper_11b", "paper_appendix", "pgra_large")


@pytest.mark.parametrize("name", names(ROOT))
def test_every_source_of_a_profile_is_described(read: Callable[[str], setup.Setup], name: str) -> None:
    it = read(name)
    needed = it.needed()
    assert set(needed) <= set(it.supply)
    base = name.partition("_")[0]
    inherited = about(ROOT, base).supply.keys() if name in EXTENDING else set()
    assert about(ROOT, name).supply.keys() - inherited <= set(needed)
    # By the text of the file alone.
    text = re.sub(r"^supply:\n( .*\n)+|#.*", "", (ROOT / f"profiles/{name}.yaml").read_text(), flags=re.M)
    for source in re.findall(r"(?:hub:|\b(?:models|data)/)[\w./-]+", text):
        assert re.match(MADE, source) or source.startswith(("data/sample", "data/ledger", *it.supply)), source


def test_the_cost_of_the_published_trainings(works: Callable[[str], dict[str, Any]]) -> None:
    found = works("paper")["train@tk_instruct"]
    # 757 tasks of 100 instances, two epochs, 1,024 + 128 tokens.
    assert found.operations == pytest.approx(6 * 2.85e9 * 757 * 100 * 2 * 1152)
    assert found.hours("a100") == pytest.approx(found.operations / 312e12 / 0.4 / 3600)
    assert (found.gpus, found.memory, found.disk) == (8, 16 * 2.85e9 / 8, 4 * 2.85e9)
    toolformer, plain = (works("toolformer")[f"train@{name}"] for name in ("toolformer", "plain"))
    assert toolformer == plain
    assert toolformer.operations == pytest.approx(6 * 6.7e9 * 2000 * 128 * 1024)
    large = works("paper_11b")["train@tk_instruct"]
    assert large.tokens == 1000 * 1024 * 1152
    assert works("paper_appendix") == works("paper")


def test_the_cost_of_reading_and_writing(works: Callable[[str], dict[str, Any]]) -> None:
    augmented, answered = works("toolformer")["augment@calendar"], works("zeroscrolls")
    assert augmented.tokens == 25_000 * 59_072
    # Two bytes for each parameter; keys and values of 28 layers of 4,096 numbers for 8 texts of 1,024 tokens, twice in
    # their prompts, and for 25 samples of 65 tokens each, or at most 16,384.
    token = 2 * 28 * 4096 * 2
    assert augmented.memory == 2 * 6.7e9 + token * (8 * 2 * 1024 + 8 * 25 * 65)
    calculated = works("toolformer")["augment@calculator"]
    assert calculated.memory == 2 * 6.7e9 + token * (8 * 2 * 1024 + 16_384)
    # Questions are answered by the weights that annotate, and beside a fine-tuned model by a second one.
    assert works("toolformer")["augment@question_answering"].memory == augmented.memory
    translated = works("toolformer")["augment@machine_translation"]
    assert translated.memory == calculated.memory + 4 * 6.15e8
    called, disabled = (
        works("toolformer")[f"predict@tool_use-{name}"] for name in ("toolformer", "toolformer_disabled")
    )
    assert called.memory - disabled.memory == pytest.approx(2 * 6.7e9 + 4 * 6.15e8)
    predicted = answered["predict@zeroscrolls-untuned"]
    assert predicted.operations == pytest.approx(2 * 1.11e10 * 4378 * (8192 + 1024))
    index, reader = works("pgra")["index"], works("pgra")["train_reader@pgra"]
    assert index.disk == 1_000_000 * 768 * 4
    assert reader.tokens == 8 * 5000 * 8 * 16 * 128
    adapted, unknown = works("real")["train@protoqa"], works("real")["predict@tool_use-untuned"]
    assert adapted.operations == pytest.approx(4 * 1.345e8 * 10_000 * 1152)  # LoRA
    assert adapted.memory == 2 * 1.345e8
    assert unknown is None


def test_keys_values_and_the_bias_of_a_t5_are_counted(works: Callable[[str], dict[str, Any]]) -> None:
    found = works("zeroscrolls")["predict@zeroscrolls-untuned"]
    # 65,536 tokens of 24 layers, and the bias of 64 heads for a prompt of 8,192 tokens, twice; 2 bytes each.
    keys, bias = 2 * 2 * 24 * 4096 * 65_536, 2 * 64 * 8192**2
    assert bias * 7 == pytest.approx(60e9, rel=0.01)
    assert found.memory == 2 * 1.11e10 + keys + 2 * bias
    # A batch of 8 prompts of 1,024 tokens is smaller than the tokens that are allowed.
    settings = values(ROOT, "paper")["predict"]["supernatinst"]
    tokens = min(settings["batch_tokens"], settings["batch_size"] * (1024 + settings["max_new_tokens"]))
    smaller = works("paper")["predict@supernatinst-tk_instruct"]
    assert smaller.activations == 2 * (2 * 24 * 2048 * tokens + 2 * 32 * 1024**2)
    assert works("real")["predict@supernatinst-untuned"].activations == 0


def test_the_numbers_of_the_documentation(works: Callable[[str], dict[str, Any]]) -> None:
    text = (ROOT / "docs/scaling.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| `([\w@-]+)` \| (.*) \|$", text, flags=re.M)
    assert {"paper", "paper_11b", "toolformer", "pgra", "protoqa", "zeroscrolls"} == {row[0] for row in rows}
    for name, stage, cells in rows:
        it = works(name)[stage]
        values = [it.tokens, it.operations, it.hours("a100"), it.hours("h100"), it.gpus, it.memory / 1e9]
        disk = number(it.disk / 1e9) if it.disk else ""
        assert cells == " | ".join([*map(number, values), disk]), stage
    for samples in ((20, 10), (5, 5)):
        assert f"{arithmetic.annotation_tokens(1024, *samples, 64):,}" in text
    first = works("paper")["train@tk_instruct"]
    assert f"in {first.hours('a100') / 8:.2g} hours" in text


def test_what_is_there_is_counted(tmp_path: Path) -> None:
    project = clone(tmp_path)
    weights = project / "models/t5-xl-lm-adapt"
    weights.mkdir(parents=True)
    save_file(
        {"a": np.zeros((3, 4), np.float32), "b": np.zeros(5, np.float32)}, weights / "model.safetensors"
    )
    params = project / "params.yaml"
    params.write_text(json.dumps(values(project, "paper")))
    metrics = project / "data/metrics/split.json"
    metrics.parent.mkdir(parents=True)
    metrics.write_text(json.dumps({"tables": {"data/split": {"train": {"rows": 7}}}}))
    it = setup.read(project, "paper")
    found = arithmetic.works(it)["train@tk_instruct"]
    assert (found.parameters, found.tokens) == (17, 7 * 2 * 1152)
    assert it.present("models/t5-xl-lm-adapt") and not it.present("data/natural-instructions")
    # The facts are of another set-up.
    params.unlink()
    assert setup.read(project, "paper").rows("split", "train") == 75_700


def test_a_source_that_no_supply_describes_is_named(tmp_path: Path) -> None:
    project = clone(tmp_path)
    (project / "profiles/mine.yaml").write_text(
        "models: {language_model: {source: hub:me/mine, sha256: null}}\ningest: {protoqa: {path: data/mine}}\n"
        "tools: {question_answering: {model: models/mine}}\n"
    )
    needed = setup.read(project, "mine").needed()
    assert set(needed) == {"hub:me/mine", "data/mine", "models/mine"}
    assert needed["data/mine"] == ["ingest@protoqa"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "supply: {x: {what: w, url: here, licence: l, gigabytes: 1}}",
            "supply.x.url = 'here' is not allowed",
        ),
        ("supply: {x: {what: w, url: 'https://a.b', gigabytes: 1}}", "key supply.x.licence is missing"),
        ("supply: [x]", "supply = ['x'] is not allowed"),
        ("targets: all", "targets = 'all' is not allowed"),
        ("targets: [nope]", "nope: no such stage"),
    ],
)
def test_a_broken_profile_is_one_line(tmp_path: Path, text: str, told: str) -> None:
    project = clone(tmp_path)
    (project / "profiles/mine.yaml").write_text(text)
    with pytest.raises(NightjarError) as caught:
        setup.read(project, "mine")
    assert told in str(caught.value) and "\n" not in str(caught.value)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(clone(tmp_path))
    arguments = ["--profile", "toolformer", "--device", "h100"]
    text = CliRunner().invoke(plan, arguments, catch_exceptions=False).output
    assert text.startswith("Profile toolformer, from nothing: 22 stages would run.\n")
    assert re.search(r"^train@toolformer +1.05e\+19 +7.4 +8 +13.4 +26.8$", text, flags=re.M)
    assert re.search(r"^models/gpt-j-6b +Apache-2.0 +24.2 +missing *$", text, flags=re.M)
    assert "https://huggingface.co/EleutherAI/gpt-j-6b\n" in text
    told = json.loads(
        CliRunner().invoke(plan, [*arguments, "--json", "split"], catch_exceptions=False).output
    )
    assert [row["stage"] for row in told["stages"]] == ["ingest@natural_instructions", "split"]
    assert told["supply"] == [] and told["stages"][0]["state"] == "would run"
    sizes = json.loads(CliRunner().invoke(plan, [*arguments, "--json"], catch_exceptions=False).output)
    assert {row["source"] for row in sizes["supply"]} == set(about(ROOT, "toolformer").supply)
    assert sum((row["cost"] or {}).get("gpu_hours", 0) for row in sizes["stages"]) == pytest.approx(
        273, abs=1
    )
