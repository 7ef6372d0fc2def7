#!/usr/bin/env python3
"""Computes testdata/optimizers: steps of testdata/optimizers/model.json under every optimizer, with schedules, clipping
and weight decay, in NumPy and double precision, by formulas written out by hand and independent of mtfc. Needs
python3-numpy; the results are kept in the repository."""
import fnmatch
import json
import pathlib

import numpy as np

STEPS = 6
FOLDER = pathlib.Path(__file__).parent.parent / "testdata" / "optimizers"

CASES = [
    {"name": "sgd_linear", "clip_norm": 0.5,
     "optimizer": {"kind": "sgd", "lr": {"schedule": "linear", "peak": 0.3, "warmup": 2, "steps": 5, "end": 0.1}}},
    {"name": "momentum_cosine",
     "optimizer": {"kind": "momentum", "momentum": 0.8,
                   "lr": {"schedule": "cosine", "peak": 0.2, "steps": 4}}},
    {"name": "adam", "optimizer": {"kind": "adam", "lr": 0.05, "beta1": 0.8, "beta2": 0.95, "eps": 1e-6}},
    {"name": "adam_rsqrt", "clip_norm": 0.4,
     "optimizer": {"kind": "adam", "lr": {"schedule": "rsqrt", "peak": 0.1, "warmup": 3}}},
    {"name": "adamw_cosine", "clip_norm": 0.6, "no_decay": ["*/bias", "head/g*n"],
     "optimizer": {"kind": "adamw", "weight_decay": 0.2,
                   "lr": {"schedule": "cosine", "peak": 0.1, "warmup": 2, "steps": 5, "end": 0.01}}},
    {"name": "adafactor_rsqrt", "clip_norm": 0.7,
     "optimizer": {"kind": "adafactor", "least_factored": 4, "lr": {"schedule": "rsqrt", "peak": 0.1, "warmup": 2}}},
    {"name": "adafactor_relative",
     "optimizer": {"kind": "adafactor", "least_factored": 1, "lr": 0.3, "beta1": 0.7, "beta2": 0.6, "decay_exponent": 0.9,
                   "clip_threshold": 0.8, "eps1": 1e-5, "eps2": 0.2, "scale_by_parameter": 1}},
    {"name": "adafactor_unfactored",
     "optimizer": {"kind": "adafactor", "scale_by_parameter": 1,
                   "lr": {"product": [{"schedule": "rsqrt", "peak": 0.2, "hold": 3}, 0.5]}}},
    {"name": "adafactor_by_name",
     "optimizer": {"kind": "adafactor", "least_factored": 1, "factored": {"*/w": ["cols", "rows"], "head/*": []},
                   "lr": {"schedule": "linear", "peak": 0.2, "warmup": 1, "hold": 3, "steps": 6}}},
    {"name": "adamw_own_rates", "clip_norm": 0.6, "no_decay": ["*/bias", "head/g*n"],
     "lr_factors": {"layer/*": 0.25, "*/bias": {"schedule": "cosine", "peak": 2, "warmup": 2, "steps": 6}, "head/gain": 0},
     "optimizer": {"kind": "adamw", "weight_decay": 0.2,
                   "lr": {"product": [3, {"schedule": "rsqrt", "peak": 0.1, "warmup": 2},
                                      {"schedule": "linear", "peak": 0.5, "steps": 8}]}}},
    {"name": "sgd_own_rates", "lr_factors": {"*": 3, "head/*": {"schedule": "linear", "peak": 1, "steps": 4}},
     "optimizer": {"kind": "sgd", "lr": 0.05}},
]


def rate(lr, t):
    if not isinstance(lr, dict):
        return lr
    if "product" in lr:
        return float(np.prod([rate(factor, t) for factor in lr["product"]]))
    peak, warmup = lr["peak"], lr.get("warmup", 0)
    hold = lr.get("hold", warmup)
    if t < warmup:
        return peak * t / warmup
    if t < hold:
        return peak
    if lr["schedule"] == "rsqrt":
        return peak * (hold / t) ** 0.5
    end, done = lr.get("end", 0.0), min(1.0, (t - hold) / (lr["steps"] - hold))
    left = 1 - done if lr["schedule"] == "linear" else (1 + np.cos(np.pi * done)) / 2
    return end + (peak - end) * left


def loss_and_gradients(v, x, y):
    flat = x.reshape(len(x), -1)
    h = np.tanh(flat @ v["layer/w"].reshape(flat.shape[1], -1) + v["layer/bias"])
    u = h @ v["head/w"]
    error = u * v["head/gain"] - y
    dz = 2 * error / error.size
    du = dz * v["head/gain"]
    dpre = (du @ v["head/w"].T) * (1 - h * h)
    return (error ** 2).mean(), {"layer/w": (flat.T @ dpre).reshape(v["layer/w"].shape), "layer/bias": dpre.sum(axis=0),
                                 "head/w": h.T @ du, "head/gain": (dz * u).sum()}


def rms(a):
    return np.sqrt(np.mean(np.square(a)))


# The axes over which means are kept: those of `factored`, else the two largest ones of at least a size.
def factored_axes(o, name, shape):
    dims = {"layer/w": ["rows", "cols", "hidden"], "head/w": ["hidden", "out"]}.get(name, [])
    for pattern, chosen in reversed(o.get("factored", {}).items()):
        if fnmatch.fnmatch(name, pattern) and set(chosen) <= set(dims):
            return tuple(sorted(dims.index(dim) for dim in chosen))
    order = sorted((i for i in range(len(shape)) if shape[i] >= o.get("least_factored", 128)), key=lambda i: (-shape[i], -i))
    return tuple(sorted(order[:2])) if len(order) > 1 else ()


def adafactor(o, name, w, g, s, t, lr):
    beta2 = min(o.get("beta2", 0.99), 1 - t ** -o.get("decay_exponent", 0.8))
    square = g * g + o.get("eps1", 1e-30)
    if axes := factored_axes(o, name, g.shape):
        first, second = axes
        for key, axis in (("vr", second), ("vc", first)):
            s[key] = beta2 * s.get(key, 0) + (1 - beta2) * square.mean(axis=axis, keepdims=True)
        v = s["vr"] * s["vc"] / s["vr"].mean(axis=first, keepdims=True)
    else:
        v = s["v"] = beta2 * s.get("v", 0) + (1 - beta2) * square
    u = g / np.sqrt(v)
    u = u / max(1.0, rms(u) / o.get("clip_threshold", 1.0))
    if o.get("scale_by_parameter"):
        lr = lr * max(o.get("eps2", 1e-3), rms(w))
    change = lr * u
    if "beta1" in o:
        change = s["m"] = o["beta1"] * s.get("m", 0) + (1 - o["beta1"]) * change
    return w - change


def adam(o, w, g, s, t, lr, decay):
    beta1, beta2 = o.get("beta1", 0.9), o.get("beta2", 0.999)
    s["m"] = beta1 * s.get("m", 0) + (1 - beta1) * g
    s["v"] = beta2 * s.get("v", 0) + (1 - beta2) * g * g
    mean, variance = s["m"] / (1 - beta1 ** t), s["v"] / (1 - beta2 ** t)
    return w - lr * decay * w - lr * mean / (np.sqrt(variance) + o.get("eps", 1e-8))


def updated(case, name, w, g, s, t):
    o, decays = case["optimizer"], name not in SPARED
    lr = rate(o["lr"], t)
    factors = [f for pattern, f in case.get("lr_factors", {}).items() if fnmatch.fnmatch(name, pattern)]
    if factors:
        lr *= rate(factors[-1], t)
    if o["kind"] == "sgd":
        return w - lr * g
    if o["kind"] == "momentum":
        s["momentum"] = o["momentum"] * s.get("momentum", 0) + g
        return w - lr * s["momentum"]
    if o["kind"] == "adafactor":
        return adafactor(o, name, w, g, s, t, lr)
    return adam(o, w, g, s, t, lr, o.get("weight_decay", 0.0) if decays else 0.0)


# The variables that match the patterns of `no_decay` above.
SPARED = ("layer/bias", "head/gain")


def run(case, start, x, y):
    v = {name: value.astype(float) for name, value in start.items()}
    state = {name: {} for name in v}
    steps = []
    for t in range(1, STEPS + 1):
        loss, gradients = loss_and_gradients(v, x, y)
        norm = np.sqrt(sum((g * g).sum() for g in gradients.values()))
        if "clip_norm" in case:
            factor = min(1.0, case["clip_norm"] / norm)
            gradients = {name: g * factor for name, g in gradients.items()}
        steps.append({"loss": float(loss), "norm": float(norm), "lr": float(rate(case["optimizer"]["lr"], t))})
        v = {name: updated(case, name, v[name], gradients[name], state[name], t) for name in v}
    return {"steps": steps, "end": {name: np.ravel(value).tolist() for name, value in v.items()}}


def main():
    rng = np.random.default_rng(5)
    x = rng.standard_normal((6, 3, 4)).astype(np.float32)
    y = rng.standard_normal((6, 4)).astype(np.float32)
    start = {"layer/w": rng.standard_normal((3, 4, 7)) * 0.3, "layer/bias": rng.standard_normal(7) * 0.1,
             "head/w": rng.standard_normal((7, 4)) * 0.4, "head/gain": np.array(1.25)}
    start = {name: value.astype(np.float32) for name, value in start.items()}
    for name, array in {"x": x, "y": y, **start}.items():
        np.save(FOLDER / f"{name.replace('/', '_')}.npy", array)
    cases = []
    for case in CASES:
        train = {key: value for key, value in case.items() if key != "name"}
        cases.append({"name": case["name"], "train": train, **run(case, start, x.astype(float), y.astype(float))})
    (FOLDER / "expected.json").write_text(json.dumps(cases, indent=1) + "\n")


if __name__ == "__main__":
    main()
