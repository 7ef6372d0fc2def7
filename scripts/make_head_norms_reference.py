#!/usr/bin/env python3
"""Computes testdata/gpt2/head_norms.npy: the logits, in double precision, of the small GPT-2 in testdata/gpt2 if queries and
keys are normalized in each head, with scales of 1 and biases of 0. Written from the published architecture, independent of
mtfc. Needs python3-numpy; the result is kept in the repository."""
import json
import pathlib
import struct

import numpy as np

FOLDER = pathlib.Path(__file__).parent.parent / "testdata" / "gpt2"
LAYERS, HEADS = 2, 5


def read_safetensors(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name == "__metadata__":
            continue
        assert entry["dtype"] == "F32"
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(data[begin:end], np.float32).reshape(entry["shape"]).astype(np.float64)
    return tensors


def normalized(x):
    centered = x - x.mean(-1, keepdims=True)
    return centered / np.sqrt((centered ** 2).mean(-1, keepdims=True) + 1e-5)


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def main():
    w = read_safetensors(FOLDER / "model.safetensors")
    tokens = np.load(FOLDER / "tokens.npy")
    batch, length = tokens.shape

    def norm(x, at):
        return normalized(x) * w[at + ".weight"] + w[at + ".bias"]

    def linear(x, at):
        return x @ w[at + ".weight"] + w[at + ".bias"]

    x = w["wte.weight"][tokens] + w["wpe.weight"][:length]
    hidden = np.where(np.arange(length)[:, None] < np.arange(length), -np.inf, 0)
    for layer in range(LAYERS):
        at = f"h.{layer}."
        qkv = linear(norm(x, at + "ln_1"), at + "attn.c_attn").reshape(batch, length, 3, HEADS, -1)
        q, k, v = (np.moveaxis(qkv[:, :, i], 1, 2) for i in range(3))  # batch, head, length, element
        scores = normalized(q) @ np.swapaxes(normalized(k), 2, 3) / np.sqrt(q.shape[-1])
        mixed = np.moveaxis(softmax(scores + hidden) @ v, 1, 2).reshape(batch, length, -1)
        x = x + linear(mixed, at + "attn.c_proj")
        x = x + linear(gelu(linear(norm(x, at + "ln_2"), at + "mlp.c_fc")), at + "mlp.c_proj")
    np.save(FOLDER / "head_norms.npy", norm(x, "ln_f") @ w["wte.weight"].T)


if __name__ == "__main__":
    main()
