"""python -m stages.train_reader RECIPE: models/readers/RECIPE, a reader for each task of a benchmark."""

from stages._runtime.stage import StageRun, main

PACKAGES = ("torch", "transformers")


def run(stage: StageRun) -> None:
    from stages.train_reader.recipe_readers import train

    train(stage)


if __name__ == "__main__":
    main("train_reader", run, packages=PACKAGES, threads=True, benchmarks=True)
