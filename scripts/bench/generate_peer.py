#!/usr/bin/python3
"""The peer of generate.py in PyTorch: greedy decoding with a cache of keys and values.

  generate_peer.py [--threads 2] [--only gpt2] [--length 128]

gpt2: 12 layers of 768, 12 heads, and a vocabulary of 50,257, as in models/gpt2.json, with random weights. Prints a JSON
object with the mean seconds of a token."""
import argparse
import json
import math
import time

import torch
import torch.nn.functional as F
from torch import nn

LAYERS, MODEL, HEADS, VOCAB = 12, 768, 12, 50257


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(MODEL), nn.LayerNorm(MODEL)
        self.qkv, self.out = nn.Linear(MODEL, 3 * MODEL), nn.Linear(MODEL, MODEL)
        self.wide, self.narrow = nn.Linear(MODEL, 4 * MODEL), nn.Linear(4 * MODEL, MODEL)

    def forward(self, x, keys, values, position):
        q, k, v = self.qkv(self.first(x)).view(3, HEADS, MODEL // HEADS)
        keys[:, position], values[:, position] = k, v
        k, v = keys[:, :position + 1], values[:, :position + 1]
        weights = ((k @ q.unsqueeze(2)).squeeze(2) / math.sqrt(MODEL // HEADS)).softmax(-1)
        x = x + self.out((weights.unsqueeze(1) @ v).reshape(MODEL))
        return x + self.narrow(F.gelu(self.wide(self.second(x)), approximate="tanh"))


class Decoder(nn.Module):
    def __init__(self, length):
        super().__init__()
        self.embed, self.position = nn.Embedding(VOCAB, MODEL), nn.Embedding(1024, MODEL)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(MODEL)
        self.caches = [torch.zeros(2, HEADS, length, MODEL // HEADS) for _ in range(LAYERS)]

    def forward(self, token, position):
        x = self.embed.weight[token] + self.position.weight[position]
        for block, cache in zip(self.blocks, self.caches):
            x = block(x, cache[0], cache[1], position)
        return int((self.embed.weight @ self.norm(x)).argmax())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="gpt2", choices=["gpt2"])
    parser.add_argument("--length", type=int, default=128)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.set_flush_denormal(True)
    torch.manual_seed(0)
    decoder, token = Decoder(args.length), 1
    with torch.inference_mode():
        start = time.perf_counter()
        for position in range(args.length):
            token = decoder(token, position)
        seconds = (time.perf_counter() - start) / args.length
    print(json.dumps({"peer": "pytorch " + torch.__version__, "model": args.only, "threads": args.threads,
                      "seconds_per_step": round(seconds, 6)}))


if __name__ == "__main__":
    main()
