#!/usr/bin/python3
"""The peer of attention.py in PyTorch: scores, softmax, and values, with all scores in memory, forward and backward.

  attention_peer.py [--threads 2] [--only 2048,4096] [--runs 5] [--by-head]

--only: lengths. --by-head: products of matrices, a head at a time, in place of batched products. Prints a JSON object a line."""
import math

import peer
import torch
from torch import nn

HEADS, INNER = 8, 64


class Attention(nn.Module):
    def __init__(self, length, by_head):
        super().__init__()
        self.by_head = by_head
        self.q, self.k, self.v = (nn.Parameter(torch.randn(1, HEADS, length, INNER)) for _ in range(3))
        self.mask = torch.triu(torch.full((length, length), -1e9), 1)

    def forward(self):
        if self.by_head:
            return torch.stack([self.of(self.q[0, h], self.k[0, h], self.v[0, h]) for h in range(HEADS)])
        return self.of(self.q, self.k, self.v)

    def of(self, q, k, v):
        return (q @ k.transpose(-2, -1) / math.sqrt(INNER) + self.mask).softmax(-1) @ v


def median_seconds(name, args):
    model = Attention(int(name), args.by_head)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    return peer.median_step_seconds(model, optimizer, lambda model: model().square().mean(), args.runs)


def add_arguments(parser):
    parser.add_argument("--by-head", action="store_true", help="multiply matrices, a head at a time")


if __name__ == "__main__":
    peer.run(__doc__, ["2048", "4096"], median_seconds, add_arguments)
