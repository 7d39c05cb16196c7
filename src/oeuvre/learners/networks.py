"""What both ways of scoring a PyTorch network share: modes, losses, changes of parameters."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from oeuvre import losses
from oeuvre.errors import InvalidInput
from oeuvre.learners.protocol import missing
from oeuvre.parameters import invalid

try:
    import torch
    from torch.nn import functional
except ImportError:
    raise missing("This", "PyTorch", "torch") from None

__all__ = [
    "LABELLED",
    "MODAL",
    "Change",
    "TorchLoss",
    "check_model",
    "eval_mode",
    "labels",
    "moved",
    "numbers",
    "per_sample",
    "torch_loss",
    "undisturbed",
    "versions",
]

TorchLoss: TypeAlias = Callable[[Any, Any], Any]

MODAL = (
    torch.nn.modules.dropout._DropoutNd,
    torch.nn.modules.batchnorm._NormBase,
    torch.nn.RReLU,
)
"""Layers that do one thing in train mode and another in eval mode."""


@contextmanager
def eval_mode(model: Any) -> Iterator[None]:
    """Put a network into eval mode, and each of its layers back into its own mode afterwards."""
    training = [layer for layer in model.modules() if layer.training]
    for layer in training:
        layer.training = False
    try:
        yield
    finally:
        for layer in training:
            layer.training = True


@contextmanager
def undisturbed(model: Any) -> Iterator[None]:
    """Keep the random state, and the buffers of a network, as they are."""
    buffers = [(buffer, buffer.clone()) for buffer in model.buffers()]
    devices = {each.device.index for each in model.parameters() if each.device.type == "cuda"}
    with torch.random.fork_rng(devices=list(devices)):
        try:
            yield
        finally:
            for buffer, before in buffers:
                buffer.data.copy_(before)  # a graph that waits for its turn must not notice


def versions(parameters: Iterable[Any]) -> list[tuple[int, int]]:
    """Return the places and versions of parameters: they differ once one was changed."""
    return [(id(each), each._version) for each in parameters]


class Change:
    """The largest absolute change of a parameter since a mark."""

    def __init__(self, model: Any) -> None:
        self._parameters = [each for each in model.parameters() if each.requires_grad]
        self._before = [torch.empty_like(each) for each in self._parameters]

    def mark(self) -> None:
        """Remember the parameters as they are."""
        with torch.no_grad():
            torch._foreach_copy_(self._before, self._parameters)

    def largest(self) -> float:
        """Return the largest absolute difference from the parameters at the mark."""
        with torch.no_grad():
            torch._foreach_sub_(self._before, self._parameters)
            ends = [torch.aminmax(each) for each in self._before if each.numel()]
        return max((max(-float(low), float(high)) for low, high in ends), default=0.0)


def check_model(owner: str, model: Any) -> None:
    """Refuse what is not a network."""
    if not isinstance(model, torch.nn.Module):
        raise invalid(owner, "model", "a torch.nn.Module", model)


def moved(value: Any, device: Any) -> Any:
    """Return tensors, alone or in lists, tuples and dicts, on a device."""
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, Mapping):
        return {key: moved(each, device) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(moved(each, device) for each in value)
    return value


def labels(outputs: Any) -> Any:
    """Return the labels that logits stand for: the largest of several, the sign of one."""
    if outputs.ndim > 1 and outputs.shape[1] > 1:
        return outputs.argmax(dim=1)
    return (outputs.reshape(-1) > 0).long()


def per_sample(found: Any) -> Any:
    """Return a loss for each sample, in at least 32 bits: the mean over all that a sample has.

    A loss that is a mean already, of no dimension, stays what it is.
    """
    found = found if found.dtype in (torch.float32, torch.float64) else found.float()
    return found.flatten(1).mean(dim=1) if found.ndim > 1 else found


def numbers(found: Any) -> Any:
    """Return losses as NumPy's doubles."""
    return found.numpy(force=True).astype(np.float64)


# Losses, from outputs and targets


def torch_loss(owner: str, loss: Any, *, training: bool) -> TorchLoss:
    """Return the function of outputs and targets that a word stands for, or a function itself."""
    loss = "cross-entropy" if loss is None else loss
    words = [word for word in LOSSES if not (training and word == "zero-one")]
    if isinstance(loss, str) and loss in words:
        return LOSSES[loss]
    if callable(loss) and not isinstance(loss, losses.Loss | type):
        found: TorchLoss = loss
        return found
    wanted = f"one of {', '.join(map(repr, words))}, or a function of (outputs, targets)"
    raise invalid(owner, "loss", wanted, loss)


def cross_entropy(outputs: Any, targets: Any) -> Any:
    """Return the loss of each sample, from logits."""
    return functional.cross_entropy(outputs, targets, reduction="none")


def zero_one(outputs: Any, targets: Any) -> Any:
    """Return 1 for each wrong label, 0 for each right one."""
    found = labels(outputs)
    truths = targets.reshape(found.shape)
    several = outputs.ndim > 1 and outputs.shape[1] > 1
    return (found != (truths if several else truths > 0)).float()


def matched(function: TorchLoss, outputs: Any, targets: Any) -> Any:
    """Return a loss of numbers, for outputs and targets of one shape."""
    if outputs.ndim == 2 and outputs.shape[1] == 1 and targets.ndim == 1:
        outputs = outputs[:, 0]
    if outputs.shape != targets.shape:
        raise InvalidInput(
            "Targets must have the shape of the outputs, "
            f"{tuple(outputs.shape)}. Got {tuple(targets.shape)} instead."
        )
    return function(outputs, targets.to(outputs.dtype))


def log(outputs: Any, targets: Any) -> Any:
    """Return the log loss of the label 1, from its logit."""
    return functional.binary_cross_entropy_with_logits(outputs, targets, reduction="none")


def squared(outputs: Any, targets: Any) -> Any:
    """Return the squared difference."""
    return (outputs - targets) ** 2


def absolute(outputs: Any, targets: Any) -> Any:
    """Return the absolute difference."""
    return (outputs - targets).abs()


def pinball(outputs: Any, targets: Any) -> Any:
    """Return the loss of the median."""
    return 0.5 * (outputs - targets).abs()


def hinge(outputs: Any, targets: Any) -> Any:
    """Return max(0, 1 − s · output), with s = 1 for targets above 0 and −1 for the others."""
    return (1.0 - torch.where(targets > 0, outputs, -outputs)).clamp(min=0.0)


LABELLED: dict[str, TorchLoss] = {
    "cross-entropy": cross_entropy,
    "log": partial(matched, log),
    "hinge": partial(matched, hinge),
    "zero-one": zero_one,
}
"""Losses of classifiers, whose outputs stand for labels."""
LOSSES: dict[str, TorchLoss] = {
    **LABELLED,
    "squared": partial(matched, squared),
    "absolute": partial(matched, absolute),
    "pinball": partial(matched, pinball),
}
