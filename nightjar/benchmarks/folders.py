"""The table of Nightjar's own benchmarks."""

# Name: the folder. Its file `questions` has the QUESTION_SET, the half that asks, and `scoring` the whole BENCHMARK.
OWN = {
    "supernatinst": "nightjar.benchmarks.supernatinst",
    "tool_use": "nightjar.benchmarks.tool_use",
    "classification": "nightjar.benchmarks.classification",
    "protoqa": "nightjar.benchmarks.protoqa",
    "zeroscrolls": "nightjar.benchmarks.zeroscrolls",
    "reading": "nightjar.benchmarks.reading",
}
