"""A stand-in for a GPU on a machine without one: its tensors are computed on the CPU, but not beside those of the CPU.

It shows that code keeps tensors that belong together on one device. It does not show what a GPU computes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

GPU = torch.device("cuda", 0)
# What may have tensors of both devices, as with CUDA.
BETWEEN = frozenset({"copy_", "__get__", "__set__", "_has_compatible_shallow_copy_type", "size"})
NUMPY = (Tensor.numpy, Tensor.__array__)


def tensors(values: Any) -> Iterator[Tensor]:
    """All tensors in arguments or results."""
    if isinstance(values, Tensor):
        yield values
    elif isinstance(values, (list, tuple, dict)):
        for one in values.values() if isinstance(values, dict) else values:
            yield from tensors(one)


def on_gpu(tensor: Tensor) -> bool:
    return bool(vars(tensor).get("on_gpu"))


def put(values: Any, gpu: bool) -> Any:
    for one in tensors(values):
        vars(one)["on_gpu"] = gpu
    return values


class SecondDevice(TorchFunctionMode):
    """Within the block torch has a GPU."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        own = args[0] if args and isinstance(args[0], Tensor) else None
        if own is not None and func == Tensor.device.__get__:  # type: ignore[attr-defined]
            return GPU if on_gpu(own) else func(own)
        if own is not None and func == Tensor.data.__set__:  # type: ignore[attr-defined]
            return func(put(own, on_gpu(args[1])), args[1])
        if own is not None and func in (Tensor.to, Tensor.cpu):
            return move(own, ["cpu"] if func is Tensor.cpu else [*args[1:], *kwargs.values()])
        if func in NUMPY and on_gpu(args[0]):
            raise TypeError("a tensor of the GPU has no numpy array")
        device = kwargs.get("device")
        if device is not None and torch.device(device).type == "cuda":
            return put(func(*args, **{**kwargs, "device": "cpu"}), True)
        given = list(tensors([args, kwargs]))
        gpu = any(map(on_gpu, given))
        # Numbers may come from the CPU, and places in a tensor of the GPU.
        others = [one for one in given if one.dim() and one.numel() and not on_gpu(one)]
        places = func in (Tensor.__getitem__, Tensor.__setitem__) and on_gpu(args[0])
        if gpu and others and not places and getattr(func, "__name__", "") not in BETWEEN:
            raise RuntimeError(f"tensors of two devices in {getattr(func, '__name__', func)}")
        result = func(*args, **kwargs)
        return put(result, True) if gpu and device is None else result


def move(tensor: Tensor, values: list[Any]) -> Tensor:
    """The tensor as `Tensor.to` gives it for these arguments: a device, a type, or another tensor."""
    like = next((one for one in values if isinstance(one, Tensor)), None)
    device = next((one for one in values if isinstance(one, (str, torch.device))), None)
    dtype = next(
        (one for one in values if isinstance(one, torch.dtype)), None if like is None else like.dtype
    )
    gpu = torch.device(device).type == "cuda" if device else on_gpu(tensor if like is None else like)
    moved = tensor if dtype is None else tensor.to(dtype)
    if moved is tensor and gpu == on_gpu(tensor):
        return tensor
    return put(moved.clone() if moved is tensor else moved, gpu)  # type: ignore[no-any-return]


@pytest.fixture()
def second_device(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """torch sees the stand-in as a GPU."""
    for name, value in {
        "is_available": lambda: True,
        "get_device_name": lambda *_: "a stand-in",
        "device_count": lambda: 1,
        "get_rng_state": lambda *_: torch.zeros(1),
        "set_rng_state": lambda *_: None,
    }.items():
        monkeypatch.setattr(torch.cuda, name, value)
    with SecondDevice():
        yield
