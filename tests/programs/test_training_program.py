"""A program that trains with weights in float8: straight-through gradients, a scale from each tensor, torch.compile."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch

import lowprec as lp

LARGEST = 448.0


class Float8(torch.autograd.Function):
    @staticmethod
    def forward(ctx, w):
        return lp.quantize(w, "float8_e4m3fn").dequantize()

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Float8ByTorch(torch.autograd.Function):
    @staticmethod
    def forward(ctx, w):
        scale = w.abs().amax() / torch.tensor(LARGEST)
        return (w / scale).clamp(-LARGEST, LARGEST).to(torch.float8_e4m3fn).float() * scale

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Model(torch.nn.Module):
    def __init__(self, rounding: type[torch.autograd.Function]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.last = torch.nn.Linear(8, 16), torch.nn.Linear(16, 1)
        self.rounding = rounding

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer, then in ((self.first, torch.relu), (self.last, torch.clone)):
            x = then(torch.nn.functional.linear(x, self.rounding.apply(layer.weight), layer.bias))
        return x


def trained(rounding: type[torch.autograd.Function], *, compiled: bool) -> tuple[list[float], Model]:
    """Return the losses of ten steps, and the model."""
    model = Model(rounding)
    forward = torch.compile(model, fullgraph=True, backend="aot_eager") if compiled else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(32, 8, generator=torch.Generator().manual_seed(1))
    wanted = x.sum(1, keepdim=True)
    losses = []
    for _ in range(10):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(forward(x), wanted)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, model


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # torch's own, of its compiler
def test_losses_are_those_of_torch_alone() -> None:
    expected, by_torch = trained(Float8ByTorch, compiled=False)
    for compiled in (False, True):
        losses, model = trained(Float8, compiled=compiled)
        assert losses == expected
        assert all(torch.equal(a, b) for a, b in zip(model.parameters(), by_torch.parameters(), strict=True))
    assert losses[-1] < losses[0] / 2
    torch.compiler.reset()
