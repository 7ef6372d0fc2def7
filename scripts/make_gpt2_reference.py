#!/usr/bin/env python3
"""Computes testdata/gpt2: a small GPT-2 of random weights, in a .safetensors file with the published names and shapes,
and what PyTorch makes of it in double precision: the logits of a batch, its loss, the losses of two more steps of SGD,
and what follows a prompt where always choose the likeliest token is taken. Written from the published architecture, independent of mtfc. Needs python3-numpy and python3-torch; the results are
kept in the repository."""
import json
import pathlib
import struct

import numpy as np
import torch
import torch.nn.functional as F

FOLDER = pathlib.Path(__file__).parent.parent / "testdata" / "gpt2"
LAYERS, MODEL, HEADS, VOCAB, POSITIONS, BATCH, LENGTH, RATE = 2, 20, 5, 29, 13, 3, 11, 0.5


def shapes():
    found = {"wte.weight": (VOCAB, MODEL), "wpe.weight": (POSITIONS, MODEL), "ln_f.weight": (MODEL,), "ln_f.bias": (MODEL,)}
    for at in (f"h.{layer}." for layer in range(LAYERS)):
        for norm in ("ln_1", "ln_2"):
            found.update({f"{at}{norm}.weight": (MODEL,), f"{at}{norm}.bias": (MODEL,)})
        for name, rows, columns in (("attn.c_attn", MODEL, 3 * MODEL), ("attn.c_proj", MODEL, MODEL),
                                    ("mlp.c_fc", MODEL, 4 * MODEL), ("mlp.c_proj", 4 * MODEL, MODEL)):
            found.update({f"{at}{name}.weight": (rows, columns), f"{at}{name}.bias": (columns,)})
    return found


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, value in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [len(data), len(data) + value.nbytes]}
        data += value.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def attention(w, at, x):
    batch, length, _ = x.shape
    projected = x @ w[f"{at}c_attn.weight"] + w[f"{at}c_attn.bias"]
    q, k, v = (part.view(batch, length, HEADS, MODEL // HEADS).transpose(1, 2) for part in projected.split(MODEL, dim=2))
    scores = q @ k.transpose(2, 3) / (MODEL // HEADS) ** 0.5
    later = torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1)
    mixed = torch.softmax(scores.masked_fill(later, float("-inf")), dim=3) @ v
    return mixed.transpose(1, 2).reshape(batch, length, MODEL) @ w[f"{at}c_proj.weight"] + w[f"{at}c_proj.bias"]


def mlp(w, at, x):
    hidden = F.gelu(x @ w[f"{at}c_fc.weight"] + w[f"{at}c_fc.bias"], approximate="tanh")
    return hidden @ w[f"{at}c_proj.weight"] + w[f"{at}c_proj.bias"]


def norm(w, at, x):
    return F.layer_norm(x, (MODEL,), w[f"{at}.weight"], w[f"{at}.bias"], eps=1e-5)


def logits_of(w, tokens):
    x = w["wte.weight"][tokens] + w["wpe.weight"][:tokens.shape[1]]
    for at in (f"h.{layer}." for layer in range(LAYERS)):
        x = x + attention(w, f"{at}attn.", norm(w, f"{at}ln_1", x))
        x = x + mlp(w, f"{at}mlp.", norm(w, f"{at}ln_2", x))
    return norm(w, "ln_f", x) @ w["wte.weight"].T


def main():
    random = np.random.default_rng(20)
    FOLDER.mkdir(parents=True, exist_ok=True)
    weights = {}
    for name, shape in shapes().items():
        mean = 1 if ".ln_" in name and name.endswith("weight") else 0
        weights[name] = (mean + 0.3 * random.standard_normal(shape)).astype(np.float32)
    # Published files also contain the masks.
    masks = {f"h.{layer}.attn.bias": np.tril(np.ones((1, 1, POSITIONS, POSITIONS), np.float32)) for layer in range(LAYERS)}
    write_safetensors(FOLDER / "model.safetensors", {**weights, **masks})
    tokens = random.integers(0, VOCAB, (BATCH, LENGTH + 1)).astype(np.int32)
    np.save(FOLDER / "tokens.npy", tokens[:, :-1])
    np.save(FOLDER / "targets.npy", tokens[:, 1:])

    w = {name: torch.tensor(value, dtype=torch.float64, requires_grad=True) for name, value in weights.items()}
    ids = torch.tensor(tokens, dtype=torch.long)
    greedy = ids[:1, :4]
    while greedy.shape[1] < LENGTH:
        greedy = torch.cat([greedy, logits_of(w, greedy)[:, -1:].argmax(dim=2)], dim=1)
    losses = []
    for step in range(3):
        logits = logits_of(w, ids[:, :-1])
        if step == 0:
            np.save(FOLDER / "logits.npy", logits.detach().numpy())
        loss = F.cross_entropy(logits.reshape(-1, VOCAB), ids[:, 1:].reshape(-1))
        losses.append(loss.item())
        for value, gradient in zip(w.values(), torch.autograd.grad(loss, list(w.values()))):
            value.data -= RATE * gradient
    sets = {"layers": LAYERS, "d_model": MODEL, "heads": HEADS, "vocab": VOCAB, "positions": POSITIONS, "batch": BATCH,
            "length": LENGTH, "lr": RATE, "warmup": 0, "steps": 10**12}
    (FOLDER / "expected.json").write_text(json.dumps({"sets": sets, "losses": losses, "greedy": greedy[0].tolist()}, indent=1) + "\n")


if __name__ == "__main__":
    main()
