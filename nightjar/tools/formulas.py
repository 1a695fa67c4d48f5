"""The formulas of Toolformer: which positions, which loss, which calls are kept (sections 2, 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# Unnormalised weights are max(0, 1 - 0.2 t): only the five tokens from the position on count.
WINDOW = 5
UNNORMALISED = tuple(1.0 - 0.2 * t for t in range(WINDOW))
WEIGHTS = tuple(weight / sum(UNNORMALISED) for weight in UNNORMALISED)


def positions(probabilities: Sequence[float], threshold: float, most: int) -> list[int]:
    """The positions whose probability of a call is above `threshold`, the `most` likeliest, in text order.

    Of equal probabilities the earlier position is taken first; the paper does not say.
    """
    above = [place for place, value in enumerate(probabilities) if value > threshold]
    likeliest = sorted(above, key=lambda place: (-probabilities[place], place))[:most]
    return sorted(likeliest)


def weighted_loss(logprobs: Sequence[float]) -> float:
    """L_i: the weighted negative log-likelihood, in nats, of the tokens from position i on.

    Near the end of a text fewer than five are left; the weights are not normalised again.
    """
    return -sum(weight * value for weight, value in zip(WEIGHTS, logprobs, strict=False))


@dataclass(frozen=True)
class Losses:
    """The three losses of a call at its position: with nothing before the text, with the call, with its result."""

    no_call: float
    without_result: float
    with_result: float

    @property
    def gain(self) -> float:
        """L- minus L+: what the result saves against the better of no call and a call without result."""
        return min(self.no_call, self.without_result) - self.with_result

    def kept(self, threshold: float, price: float = 0.0) -> bool:
        """Whether the gain less the `price` of a call, in nats (not published), reaches the threshold.

        A difference equal to the threshold is enough.
        """
        return self.gain - price >= threshold
