"""A small GPT that learns to write, letter by letter, from the sonnets in char_gpt.txt."""

import argparse
from pathlib import Path

import torch
import torch.nn.functional as F
from progress import report, training
from torch import nn


class Block(nn.Module):
    """Causal self-attention, then a perceptron at each position; both are added to what came in."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).chunk(3, dim=-1)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, letters, context, width=64, heads=4, depth=2):
        super().__init__()
        self.context = context
        self.letter, self.position = nn.Embedding(letters, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, letters, bias=False)
        self.head.weight = self.letter.weight
        self.apply(self.start)

    @staticmethod
    def start(module):
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, letters):
        positions = torch.arange(letters.shape[1], device=letters.device)
        return self.head(self.norm(self.blocks(self.letter(letters) + self.position(positions))))

    @torch.no_grad()
    def write(self, letters, count, temperature=0.8, top=8):
        for _ in range(count):
            scores = self(letters[:, -self.context :])[:, -1] / temperature
            scores[scores < scores.topk(top).values[:, -1:]] = -torch.inf
            letters = torch.cat([letters, torch.multinomial(scores.softmax(-1), 1)], dim=1)
        return letters


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    text = Path(__file__).with_name("char_gpt.txt").read_text(encoding="utf-8")
    alphabet = sorted(set(text))
    number = {letter: i for i, letter in enumerate(alphabet)}
    data = torch.tensor([number[letter] for letter in text])

    model = GPT(len(alphabet), args.context)
    print(f"{len(text)} letters, {len(alphabet)} different; {sum(p.numel() for p in model.parameters())} parameters")
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95), weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps, eta_min=3e-4)
    for step in training(args.steps):
        starts = torch.randint(len(data) - args.context, (args.batch_size,))
        windows = torch.stack([data[i : i + args.context + 1] for i in starts])
        scores = model(windows[:, :-1])
        loss = F.cross_entropy(scores.flatten(0, 1), windows[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        report(step, 50, loss=loss.item(), gradient=norm.item())

    model.eval()
    written = model.write(torch.tensor([[number["\n"]]]), 200 if args.steps >= 100 else 20)
    print("".join(alphabet[i] for i in written[0].tolist()))


if __name__ == "__main__":
    main()
