#!/usr/bin/env python3
"""Computes testdata/reference: a few steps of small versions of the bundled models, in NumPy and double precision,
by formulas written out by hand and independent of mtfc. Needs python3-numpy; the results are kept in the repository."""
import json
import pathlib

import numpy as np

STEPS = 4


def softmax(z):
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def mnist(rng):
    batch, rows, cols, hidden, classes, lr = 5, 3, 4, 7, 3, 0.3
    images = rng.uniform(size=(batch, rows, cols)).astype(np.float32)
    labels = rng.integers(0, classes, size=batch).astype(np.int32)
    w1 = (rng.standard_normal((rows, cols, hidden)) * 0.4).astype(np.float32)
    w2 = (rng.standard_normal((hidden, classes)) * 0.4).astype(np.float32)
    start = {"w1": w1, "w2": w2}
    w1, w2, x = w1.astype(float), w2.astype(float), images.astype(float).reshape(batch, -1)
    log = []
    for _ in range(STEPS):
        pre = x @ w1.reshape(-1, hidden)
        h = np.maximum(pre, 0)
        p = softmax(h @ w2)
        loss = -np.log(p[np.arange(batch), labels]).mean()
        accuracy = (p.argmax(axis=1) == labels).mean()
        log.append({"loss": loss, "accuracy": accuracy})
        d = p.copy()
        d[np.arange(batch), labels] -= 1
        d /= batch
        dw2, dpre = h.T @ d, (d @ w2.T) * (pre > 0)
        w1 -= lr * (x.T @ dpre).reshape(w1.shape)
        w2 -= lr * dw2
    sizes = {"batch": batch, "rows": rows, "cols": cols, "hidden": hidden, "classes": classes, "lr": lr}
    return "mnist", sizes, {"images": images, "labels": labels}, start, {"w1": w1, "w2": w2}, log


def two_layer(rng):
    batch, io, hidden, lr = 6, 5, 7, 0.2
    x = rng.standard_normal((batch, io)).astype(np.float32)
    w = (rng.standard_normal((io, hidden)) * 0.5).astype(np.float32)
    bias = (rng.standard_normal(hidden) * 0.1).astype(np.float32)
    v = (rng.standard_normal((hidden, io)) * 0.5).astype(np.float32)
    start = {"w": w, "bias": bias, "v": v}
    w, bias, v, xd = w.astype(float), bias.astype(float), v.astype(float), x.astype(float)
    log = []
    for _ in range(STEPS):
        pre = xd @ w + bias
        h = np.maximum(pre, 0)
        error = h @ v - xd
        log.append({"loss": (error ** 2).mean()})
        dy = 2 * error / error.size
        dpre = (dy @ v.T) * (pre > 0)
        v = v - lr * h.T @ dy
        w = w - lr * xd.T @ dpre
        bias = bias - lr * dpre.sum(axis=0)
    sizes = {"batch": batch, "io": io, "hidden": hidden, "lr": lr}
    return "two_layer", sizes, {"x": x}, start, {"w": w, "bias": bias, "v": v}, log


def byte_mlp(rng):
    batch, length, vocab, d_model, d_ff, lr, momentum = 6, 3, 11, 4, 7, 0.2, 0.8
    context = rng.integers(0, vocab, size=(batch, length)).astype(np.int32)
    labels = rng.integers(0, vocab, size=batch).astype(np.int32)
    shapes = {"embedding": (vocab, d_model), "wi": (length, d_model, d_ff), "bias": (d_ff,), "wo": (d_ff, vocab),
              "out_bias": (vocab,)}
    start = {name: (rng.standard_normal(shape) * 0.5).astype(np.float32) for name, shape in shapes.items()}
    v = {name: array.astype(float) for name, array in start.items()}
    velocity = {name: np.zeros(shape) for name, shape in shapes.items()}
    log = []
    for _ in range(STEPS):
        x = v["embedding"][context].reshape(batch, -1)
        pre = x @ v["wi"].reshape(-1, d_ff) + v["bias"]
        h = np.maximum(pre, 0)
        p = softmax(h @ v["wo"] + v["out_bias"])
        loss = -np.log(p[np.arange(batch), labels]).mean()
        log.append({"loss": loss, "bits_per_byte": loss / np.log(2), "accuracy": (p.argmax(axis=1) == labels).mean()})
        d = p.copy()
        d[np.arange(batch), labels] -= 1
        d /= batch
        dpre = (d @ v["wo"].T) * (pre > 0)
        dx = (dpre @ v["wi"].reshape(-1, d_ff).T).reshape(batch, length, d_model)
        gradient = {"embedding": np.zeros(shapes["embedding"]), "wi": (x.T @ dpre).reshape(shapes["wi"]),
                    "bias": dpre.sum(axis=0), "wo": h.T @ d, "out_bias": d.sum(axis=0)}
        np.add.at(gradient["embedding"], context, dx)
        for name in v:
            velocity[name] = momentum * velocity[name] + gradient[name]
            v[name] = v[name] - lr * velocity[name]
    sizes = {"batch": batch, "length": length, "vocab": vocab, "d_model": d_model, "d_ff": d_ff, "lr": lr,
             "momentum": momentum}
    return "byte_mlp", sizes, {"bytes": context, "labels": labels}, start, v, log


def main():
    top = pathlib.Path(__file__).parent.parent / "testdata" / "reference"
    for make in (mnist, two_layer, byte_mlp):
        name, sizes, inputs, start, end, log = make(np.random.default_rng(1))
        folder = top / name
        folder.mkdir(parents=True, exist_ok=True)
        for kind, arrays in (("input", inputs), ("start", start)):
            for key, array in arrays.items():
                np.save(folder / f"{kind}_{key}.npy", array)
        for key, array in end.items():
            np.save(folder / f"end_{key}.npy", array.astype(np.float32))
        (folder / "expected.json").write_text(
            json.dumps({"sizes": sizes, "inputs": list(inputs), "variables": list(start), "steps": log}, indent=1) + "\n")


if __name__ == "__main__":
    main()
