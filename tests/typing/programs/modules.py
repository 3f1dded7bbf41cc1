"""Modules of modules: containers, buffers, recurrent layers, attention, hooks, weights in common."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, assert_type

import pullback as torch
import pullback.nn as nn
from pullback import Tensor
from pullback.nn import init
from pullback.nn.utils import clip_grad_norm_, parameters_to_vector
from pullback.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence


class Normalize(nn.Module):
    """A buffer that is declared has its type; one that is not may be a module as well."""

    mean: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.scale = nn.Parameter(torch.ones(size))

    def forward(self, x: Tensor) -> Tensor:
        return (x - self.mean) * self.scale


class Block(nn.Module):
    def __init__(self, size: int, activation: Callable[[Tensor], Tensor] = torch.relu) -> None:
        super().__init__()
        self.norm = Normalize(size)
        self.layers = nn.ModuleList([nn.Linear(size, size) for _ in range(2)])
        self.heads = nn.ModuleDict({"a": nn.Linear(size, 1), "b": nn.Linear(size, 2)})
        self.activation = activation
        for layer in self.layers:
            assert isinstance(layer, nn.Linear)
            init.xavier_uniform_(layer.weight, gain=init.calculate_gain("relu"))
            init.zeros_(layer.bias)

    def forward(self, x: Tensor, head: str = "a") -> tuple[Tensor, Tensor]:
        x = self.norm(x)
        for layer in self.layers:
            x = self.activation(layer(x))
        return x, self.heads[head](x)


class Tagger(nn.Module):
    def __init__(self, words: int, tags: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, 6, padding_idx=0)
        self.lstm = nn.LSTM(6, 5, num_layers=2, batch_first=True, bidirectional=True)
        self.attention = nn.MultiheadAttention(10, 2, batch_first=True)
        self.out = nn.Sequential(OrderedDict([("drop", nn.Dropout(0.1)), ("fc", nn.Linear(10, tags))]))

    def forward(self, words: Tensor) -> Tensor:
        states, (hidden, cells) = self.lstm(self.embedding(words))
        assert_type(hidden, Tensor)
        assert_type(cells, Tensor)
        attended, _ = self.attention(states, states, states)
        tags: Tensor = self.out(attended)
        return tags


block = Block(4, nn.GELU())
features, value = block(torch.randn(3, 4), head="b")
assert_type(features, Tensor)
assert_type(value, Tensor)
assert_type(block.norm.mean, Tensor)
assert_type(block.norm.scale, nn.Parameter)
assert_type(block.layers[0], nn.Module)
assert_type(block.heads["a"], nn.Module)
assert_type(block.double().requires_grad_(False), Block)

tagger = Tagger(20, 3)
sentences = [torch.tensor([1, 2, 3]), torch.tensor([4, 5])]
batch = pad_sequence(sentences, batch_first=True)
assert_type(tagger(batch), Tensor)
packed = pack_padded_sequence(tagger.embedding(batch), [3, 2], batch_first=True)
unpacked, lengths = pad_packed_sequence(packed, batch_first=True)
print(unpacked.shape, lengths)


def note(module: nn.Module, args: tuple[Any, ...], output: Tensor) -> None:
    print(type(module).__name__, tuple(output.shape))


handle = tagger.embedding.register_forward_hook(note)
tagger(batch).square().mean().backward()
handle.remove()
assert_type(clip_grad_norm_(tagger.parameters(), 1.0), Tensor)
assert_type(parameters_to_vector(tagger.parameters()), Tensor)
for name, child in tagger.named_children():
    assert_type(child, nn.Module)
    print(name, sum(p.numel() for p in child.parameters()))
tagger.apply(lambda module: None)
state = tagger.state_dict()
print(len(state), list(state)[0])
