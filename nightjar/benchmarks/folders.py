"""The table of Nightjar's own benchmarks."""

# Name: the folder. Its file `card` has the CARD, `questions` the QUESTION_CARD, the half that asks.
OWN = {
    "supernatinst": "nightjar.benchmarks.supernatinst",
    "tool_use": "nightjar.benchmarks.tool_use",
    "classification": "nightjar.benchmarks.classification",
    "protoqa": "nightjar.benchmarks.protoqa",
    "zeroscrolls": "nightjar.benchmarks.zeroscrolls",
    "reading": "nightjar.benchmarks.reading",
}
