"""python -m stages.train RECIPE: models/train/RECIPE, an adapter or a model, and how it was trained."""

from nightjar.core import paths
from stages._runtime.stage import StageRun, main
from stages.train.launch import launch


def run(stage: StageRun) -> None:
    from stages.train.recipe_training import fit

    launcher = stage.params.train.launcher
    stage.params.train.check(stage.item)
    facts = (fit if launcher == "none" else launch)(stage.item, stage.params)
    instances = facts.pop("instances")
    stage.reads(paths.ENCODED / stage.item, paths.LANGUAGE_MODEL)
    stage.writes(paths.TRAINED / stage.item)
    stage.count(rows_in=instances, rows_out=instances)
    stage.details |= {"launcher": launcher, **facts}


if __name__ == "__main__":
    packages = ("torch", "transformers", "accelerate", "peft")
    main("train", run, packages=packages, threads=True)
