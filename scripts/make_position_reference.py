#!/usr/bin/env python3
"""Computes testdata/position_reference: attention with rotated queries and keys (Su et al. 2021), with slopes (Press et
al. 2022) and with a learned bias for each bucket of distances (Raffel et al. 2020), and all gradients, in NumPy and
double precision, independently of mtfc. Buckets are those of T5's published code. Gradients are derived by hand and
checked here against central differences. Needs python3-numpy; the results are kept in the repository."""
import json
import math
import pathlib

import numpy as np

FOLDER = pathlib.Path(__file__).parent.parent / "testdata" / "position_reference"
BATCH, LENGTH, HEADS, KV, BUCKETS, FARTHEST, BASE, SCALE = 2, 18, 2, 4, 8, 16, 100, 0.5


def turned(x, sign=1):
    """x of [batch, length, heads, kv]; pairs (i, i + kv / 2) as complex numbers, each turned by its angle."""
    half = KV // 2
    angle = np.arange(LENGTH)[:, None, None] * BASE ** (-2 * np.arange(half) / KV)
    z = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * sign * angle)
    return np.concatenate([z.real, z.imag], axis=-1)


def t5_bucket(distance, causal):
    """distance = position of the memory - position of the query, as in T5's relative_position_bucket."""
    bucket, buckets = 0, BUCKETS
    if causal:
        n = max(0, -distance)
    else:
        buckets //= 2
        bucket, n = (buckets if distance > 0 else 0), abs(distance)
    exact = buckets // 2
    if n < exact:
        return bucket + n
    # In exact arithmetic, as log(16 / 4) / log(16 / 4) must not round below 1.
    steps = math.log(n / exact) / math.log(FARTHEST / exact) * (buckets - exact)
    return bucket + min(buckets - 1, exact + math.floor(steps + 1e-9))


def buckets_of(causal):
    return np.array([[t5_bucket(m - l, causal) for m in range(LENGTH)] for l in range(LENGTH)])


def attend(q, k, v, bias, seen):
    """bias and seen broadcast to [batch, heads, length, memory]. Returns the result, the weights and the totals."""
    scores = np.where(seen, SCALE * np.einsum("blhk,bmhk->bhlm", q, k) + bias, -np.inf)
    most = scores.max(axis=-1, keepdims=True)
    e = np.exp(scores - most)
    sums = e.sum(axis=-1, keepdims=True)
    return np.einsum("bhlm,bmhk->blhk", e / sums, v), e / sums, (most + np.log(sums))[..., 0]


def back(q, k, v, p, given, of_total):
    """Gradients of q, k, v and of the scores."""
    of_p = np.einsum("blhk,bmhk->bhlm", given, v)
    of_s = p * (of_p - (p * of_p).sum(axis=-1, keepdims=True) + of_total[..., None])
    return (SCALE * np.einsum("bhlm,bmhk->blhk", of_s, k), SCALE * np.einsum("bhlm,blhk->bmhk", of_s, q),
            np.einsum("bhlm,blhk->bmhk", p, given), of_s)


def table_gradient(of_s, buckets):
    of_table = np.zeros((BUCKETS, HEADS))
    for l in range(LENGTH):
        for m in range(LENGTH):
            of_table[buckets[l, m]] += of_s[:, :, l, m].sum(axis=0)
    return of_table


def compute(x):
    causal = np.tril(np.ones((LENGTH, LENGTH), bool))
    seen = (x["seen"] > 0)[:, None, None, :]
    distance = np.abs(np.arange(LENGTH)[:, None] - np.arange(LENGTH))
    slopes = -(2.0 ** (-8 * (np.arange(HEADS) + 1) / HEADS))[:, None, None] * distance
    past, both = buckets_of(True), buckets_of(False)
    q, k, v, t = x["q"], x["k"], x["v"], x["t"]
    tq, tk = turned(q), turned(k)
    r, p_r, _ = attend(tq, tk, v, 0, causal)
    a, p_a, _ = attend(q, k, v, slopes, causal)
    b, p_b, total_b = attend(q, k, v, x["past/table"][past].transpose(2, 0, 1), causal)
    c, p_c, total_c = attend(q, k, v, x["both/table"][both].transpose(2, 0, 1), seen)
    loss = ((r + a + b + c) * t).sum() + (total_b * total_c).sum()
    none = np.zeros_like(total_b)
    gr, ga = back(tq, tk, v, p_r, t, none), back(q, k, v, p_a, t, none)
    gb, gc = back(q, k, v, p_b, t, total_c), back(q, k, v, p_c, t, total_b)
    return {"rotary": r, "alibi": a, "past": b, "both": c, "loss": loss,
            "of_q": turned(gr[0], -1) + ga[0] + gb[0] + gc[0], "of_k": turned(gr[1], -1) + ga[1] + gb[1] + gc[1],
            "of_v": gr[2] + ga[2] + gb[2] + gc[2], "of_past": table_gradient(gb[3], past),
            "of_both": table_gradient(gc[3], both)}


def check_gradients(x, results, rng):
    for name, gradient in (("q", "of_q"), ("k", "of_k"), ("v", "of_v"), ("past/table", "of_past"), ("both/table", "of_both")):
        for _ in range(6):
            at = tuple(int(rng.integers(n)) for n in x[name].shape)
            sides = []
            for step in (1e-5, -1e-5):
                moved = {**x, name: x[name].copy()}
                moved[name][at] += step
                sides.append(compute(moved)["loss"])
            assert abs((sides[0] - sides[1]) / 2e-5 - results[gradient][at]) < 1e-6, (name, at)


def main():
    rng = np.random.default_rng(3)
    shape = (BATCH, LENGTH, HEADS, KV)
    x = {name: np.round(rng.standard_normal(shape), 3) for name in ("q", "k", "v", "t")}
    x["seen"] = (rng.random((BATCH, LENGTH)) < 0.7).astype(int)
    for name in ("past/table", "both/table"):
        x[name] = np.round(rng.standard_normal((BUCKETS, HEADS)), 3)
    results = compute(x)
    check_gradients(x, results, rng)
    as_lists = lambda tensors: {name: np.ravel(value).tolist() for name, value in tensors.items()}
    (FOLDER / "expected.json").write_text(json.dumps({"given": as_lists(x), "results": as_lists(results)}) + "\n")


if __name__ == "__main__":
    main()
