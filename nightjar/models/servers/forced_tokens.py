"""The log-probabilities of a given text from llama.cpp's own server, whose `echo` has none: token by token.

`/tokenize` gives the tokens of the text. A request for one token has those before it as its prompt, and a `logit_bias`
that forces the token. The log-probability in the answer is that of the model, without the bias; this is checked once.
The server reads its prompt once: what two requests have in common stays in its cache.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from nightjar.models.servers.prompt_logprobs import ScoredToken, is_number

# A logit that no other token reaches.
BIAS = 1000
# The answer has no log-probability of a part of a character that was forced. It is looked for among so many of the
# likeliest tokens, whose list fits the limit of an answer.
LIKELIEST = 20_000
# At the start a token of this rank is forced, and has its value of the list, in nats, up to rounding.
CHECKED_RANK, MOST_APART = 100, 0.01
MOST_IDS = 2**31

Ask = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class TextToken(NamedTuple):
    """A token of a text: its number in the vocabulary, and where its characters end."""

    id: int
    end: int


class ForcedTokens:
    """Log-probabilities by forced tokens. `tokenize` and `complete` send a request's body and return the answer.

    The answer of `complete` has an object `usage`.
    """

    def __init__(self, tokenize: Ask, complete: Ask) -> None:
        self._tokenize, self._complete = tokenize, complete
        # The ids that the server puts before a text.
        self._prefix: list[int] = []
        # A token that is no part of a character: the list of the likeliest tokens comes with a whole token alone.
        self._plain_token = 0

    def check(self, text: str) -> str:
        """Try a text. Return the reason why the server has no such log-probabilities; empty if it has them.

        Raises NightjarError as the requests do.
        """
        tokens, all_ids = self._tokens(text), _ids(self._tokenize(_content(text, special=True)))
        if not tokens or not all_ids:
            return "its tokens are not those of the text"
        ids = [token.id for token in tokens]
        self._prefix = all_ids[: len(all_ids) - len(ids)]
        if all_ids != [*self._prefix, *ids]:
            return "it puts tokens behind a text"
        ranked = self._likeliest(all_ids, CHECKED_RANK)
        # A token that is ASCII is no part of a character.
        plain = [
            entry for entry in ranked if str(entry.get("token", "")).isascii() and _logprob(entry) is not None
        ]
        if len(plain) < 2:
            return "it lists no likeliest tokens"
        self._plain_token = plain[-1].get("id", 0)
        forced = self._forced(all_ids, self._plain_token)
        if forced is None or abs(forced - plain[-1]["logprob"]) > MOST_APART:
            return "a token that is forced has another value"
        return ""

    def pieces(self, text: str, start: int) -> list[ScoredToken] | None:
        """The tokens of a text that end after `start`, with a request for each; None if the server's are others.

        The first token of a text has no value if nothing comes before it, or if `start` is 0.
        """
        tokens = self._tokens(text)
        if tokens is None:
            return None
        ids = [*self._prefix, *(token.id for token in tokens)]
        pieces = list[ScoredToken]()
        for place, token in enumerate(tokens):
            if token.end <= start:
                continue
            before = ids[: len(self._prefix) + place]
            has_context = before and (place or start)
            pieces.append(ScoredToken(token.end, self._logprob(before, token.id) if has_context else None))
        return pieces

    def _tokens(self, text: str) -> list[TextToken] | None:
        """The tokens of a text; None if they are not its bytes. A blank that the tokenizer puts before it is none."""
        answer = self._tokenize(_content(text, special=False))
        ids, data = _ids(answer), text.encode()
        if ids is None:
            return None
        parts = [_bytes(entry.get("piece")) for entry in answer["tokens"]]
        # No token is empty, so that a text has at most as many tokens, and requests, as bytes.
        if not all(parts):
            return None
        joined = b"".join(part for part in parts if part)
        blank = 1 if joined == b" " + data else 0
        if joined[blank:] != data:
            return None
        # A part of a character ends where the character does.
        ends = [0, *(place for place, sign in enumerate(text, 1) for _ in sign.encode())]
        tokens, count = list[TextToken](), -blank
        for token, part in zip(ids, parts, strict=True):
            count += len(part or b"")
            tokens.append(TextToken(token, ends[max(count, 0)]))
        return tokens

    def _logprob(self, before: Sequence[int], token: int) -> float | None:
        """The log-probability of a token; None if the server does not give it."""
        value = self._forced(before, token)
        if value is None:
            likeliest = self._likeliest(before, LIKELIEST, {str(self._plain_token): BIAS})
            listed = (entry for entry in likeliest if entry.get("id") == token)
            value = _logprob(next(listed, None))
        return value

    def _forced(self, before: Sequence[int], token: Any) -> float | None:
        entry = self._answered(before, {"logprobs": 1, "logit_bias": {str(token): BIAS}})
        return _logprob(entry) if entry.get("id") == token else None

    def _likeliest(
        self, before: Sequence[int], count: int, bias: Mapping[str, float] | None = None
    ) -> list[dict[str, Any]]:
        """The likeliest next tokens, the likeliest first."""
        parameters = {"logprobs": count, **({"logit_bias": bias} if bias else {})}
        entries = self._answered(before, parameters).get("top_logprobs")
        return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []

    def _answered(self, before: Sequence[int], parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The entry of the token that answers a request after some ids; empty if it has none."""
        body = {"prompt": list(before), "max_tokens": 1, "temperature": 0, "cache_prompt": True}
        answer = self._complete({**body, **parameters})
        if answer["usage"].get("prompt_tokens") not in (None, len(before)):
            return {}
        return written_token(answer)


def written_token(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The entry of the only token of an answer, in llama.cpp's form; empty if it has none."""
    try:
        (entry,) = answer["choices"][0]["logprobs"]["content"]
    except (LookupError, TypeError, ValueError):
        return {}
    return entry if isinstance(entry, dict) else {}


def _content(text: str, special: bool) -> dict[str, Any]:
    """The body of a request for the tokens of a text; the names of special tokens in it are these tokens."""
    return {"content": text, "add_special": special, "parse_special": True, "with_pieces": True}


def _ids(answer: Mapping[str, Any]) -> list[int] | None:
    """The ids of an answer of `/tokenize`; None if they are not there."""
    tokens = answer.get("tokens")
    if not isinstance(tokens, list) or not all(isinstance(entry, dict) for entry in tokens):
        return None
    ids = [entry.get("id") for entry in tokens]
    return ids if all(type(token) is int and 0 <= token < MOST_IDS for token in ids) else None


def _bytes(piece: Any) -> bytes | None:
    """The bytes of a piece: a text, or a list of bytes where it is no whole text."""
    if isinstance(piece, str):
        return piece.encode(errors="surrogatepass")
    if isinstance(piece, list) and all(type(value) is int and 0 <= value < 256 for value in piece):
        return bytes(piece)
    return None


def _logprob(entry: Any) -> float | None:
    """The log-probability of an entry; None if it is no number, or above 0."""
    value: Any = entry.get("logprob") if isinstance(entry, dict) else None
    return float(value) if is_number(value) and value <= 0 else None
