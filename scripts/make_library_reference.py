#!/usr/bin/env python3
"""Computes testdata/library_reference in NumPy and double precision, independently of mtfc: activations, sigmoid
cross-entropy, a mixture of softmaxes (Yang et al. 2018), multi-query attention (Shazeer 2019), talking-heads attention
(Shazeer et al. 2020), memory-compressed attention (Liu et al. 2018), local attention, and a Universal Transformer with
adaptive halting (Dehghani et al. 2018). Everything is written as in the papers, position by position where that is
clearer. Gradients are central differences of the loss, of fourth order. Needs python3-numpy; the results are kept in
the repository."""
import json
import math
import pathlib

import numpy as np

FOLDER = pathlib.Path(__file__).parent.parent / "testdata" / "library_reference"
BATCH, LENGTH, MODEL, HIDDEN, HEADS, KEY_HEADS, VALUE_HEADS, KV, VOCAB = 2, 8, 6, 5, 2, 3, 4, 4, 7
SOFTMAXES, CHUNK, CHUNKS, WHOLE_CHUNKS, QUERY_HEADS, STEPS, EPS = 2, 3, 3, 2, 4, 3, 0.2

SHAPES = {
    "x": (BATCH, LENGTH, MODEL), "t": (BATCH, LENGTH, MODEL), "t_vocab": (BATCH, LENGTH, VOCAB),
    "labels": (BATCH, LENGTH, VOCAB), "table": (VOCAB, MODEL),
    "mixture_of_softmaxes/shares": (MODEL, SOFTMAXES), "mixture_of_softmaxes/projection": (MODEL, SOFTMAXES, MODEL),
    "mixture_of_softmaxes/bias": (SOFTMAXES, MODEL),
    "multi/q/weight": (1, QUERY_HEADS, KV, MODEL), "multi/k/weight": (1, KV, MODEL), "multi/v/weight": (1, KV, MODEL),
    "multi/o/weight": (MODEL, 1, QUERY_HEADS, KV),
}
for scope in ("past", "near"):
    SHAPES.update({f"{scope}/wq": (MODEL, KEY_HEADS, KV), f"{scope}/wk": (MODEL, KEY_HEADS, KV),
                   f"{scope}/wv": (MODEL, VALUE_HEADS, KV), f"{scope}/of_scores": (KEY_HEADS, HEADS),
                   f"{scope}/of_weights": (HEADS, VALUE_HEADS), f"{scope}/wo": (VALUE_HEADS, KV, MODEL)})
for scope in ("chunks", "past_chunks"):
    SHAPES.update({f"{scope}/wq": (MODEL, HEADS, KV), f"{scope}/wk": (CHUNK, MODEL, HEADS, KV),
                   f"{scope}/wv": (CHUNK, MODEL, HEADS, KV), f"{scope}/wo": (HEADS, KV, MODEL)})
for scope in ("local_past", "local", "universal_layers/step/self/attention"):
    SHAPES.update({f"{scope}/w{part}": (MODEL, HEADS, KV) for part in "qkv"})
    SHAPES[f"{scope}/wo"] = (HEADS, KV, MODEL)
SHAPES.update({
    "universal_layers/step/halting/w": (MODEL,), "universal_layers/step/halting/bias": (),
    "universal_layers/step/self/norm/scale": (MODEL,), "universal_layers/step/self/norm/bias": (MODEL,),
    "universal_layers/step/ffn/norm/scale": (MODEL,), "universal_layers/step/ffn/norm/bias": (MODEL,),
    "universal_layers/step/ffn/feed_forward/wi": (MODEL, HIDDEN),
    "universal_layers/step/ffn/feed_forward/wo": (HIDDEN, MODEL)})


def softmax(scores):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def elu(x, alpha):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def sigmoid_cross_entropy(logits, labels):
    # As TensorFlow's documentation derives it.
    return np.maximum(logits, 0) - logits * labels + np.log1p(np.exp(-np.abs(logits)))


def mixture(x, given):
    p = {name: given["mixture_of_softmaxes/" + name] for name in ("shares", "projection", "bias")}
    shares = softmax(x @ p["shares"])
    result = np.zeros((BATCH, LENGTH, VOCAB))
    for s in range(SOFTMAXES):
        context = np.tanh(x @ p["projection"][:, s] + p["bias"][s])
        result += shares[..., s:s + 1] * softmax(context @ given["table"].T)
    return np.log(result)


def one_head(q, k, v, seen):
    """[length, kv] each; seen[l] is the list of the positions that l sees."""
    result = np.zeros((len(q), v.shape[1]))
    for l in range(len(q)):
        if seen[l]:
            result[l] = softmax(k[seen[l]] @ q[l] / math.sqrt(KV)) @ v[seen[l]]
    return result


def all_seen(condition, memory=LENGTH):
    return [[m for m in range(memory) if condition(l, m)] for l in range(LENGTH)]


def multi_query(x, given):
    wq, wk, wv, wo = (given[f"multi/{part}/weight"] for part in "qkvo")
    result = np.zeros_like(x)
    for b in range(BATCH):
        k, v = x[b] @ wk[0].T, x[b] @ wv[0].T
        for h in range(QUERY_HEADS):
            result[b] += one_head(x[b] @ wq[0, h].T, k, v, all_seen(lambda l, m: m <= l)) @ wo[:, 0, h].T
    return result


def attention(x, given, scope, seen_of):
    result = np.zeros_like(x)
    for b in range(BATCH):
        for h in range(HEADS):
            q, k, v = (x[b] @ given[f"{scope}/w{part}"][:, h] for part in "qkv")
            result[b] += one_head(q, k, v, seen_of(b)) @ given[scope + "/wo"][h]
    return result


def talking_heads(x, given, scope, seen_of):
    p = {name: given[f"{scope}/{name}"] for name in ("wq", "wk", "wv", "of_scores", "of_weights", "wo")}
    result = np.zeros_like(x)
    for b in range(BATCH):
        j = np.stack([(x[b] @ p["wq"][:, h]) @ (x[b] @ p["wk"][:, h]).T for h in range(KEY_HEADS)], -1) / math.sqrt(KV)
        scores = j @ p["of_scores"]  # [length, memory, heads]
        weights = np.zeros_like(scores)
        for l, seen in enumerate(seen_of(b)):
            for h in range(HEADS):
                weights[l, seen, h] = softmax(scores[l, seen, h])
        spread = weights @ p["of_weights"]
        for h in range(VALUE_HEADS):
            result[b] += spread[..., h] @ (x[b] @ p["wv"][:, h]) @ p["wo"][h]
    return result


def compressed(x, given, scope, chunks, causal):
    p = {name: given[f"{scope}/{name}"] for name in ("wq", "wk", "wv", "wo")}
    filled = np.concatenate([x, np.zeros((BATCH, chunks * CHUNK, MODEL))], axis=1)
    result = np.zeros_like(x)
    for b in range(BATCH):
        for h in range(HEADS):
            def convolved(w):
                return np.stack([sum(filled[b, c * CHUNK + i] @ w[i, :, h] for i in range(CHUNK)) for c in range(chunks)])
            seen = all_seen(lambda l, c: not causal or (c + 1) * CHUNK - 1 <= l, chunks)
            result[b] += one_head(x[b] @ p["wq"][:, h], convolved(p["wk"]), convolved(p["wv"]), seen) @ p["wo"][h]
    return result


def normalized(x, given, scope):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred ** 2).mean(axis=-1, keepdims=True) + 1e-5) * given[scope + "/scale"] + given[scope + "/bias"]


def coordinates(step):
    place = np.zeros((LENGTH, MODEL))
    for l in range(LENGTH):
        for c in range(MODEL):
            wave = math.sin if c % 2 == 0 else math.cos
            rate = 10000 ** (-(c - c % 2) / MODEL)
            place[l, c] = wave(l * rate) + wave(step * rate)
    return place


def universal(x, given):
    """Listing 1 of the appendix of Dehghani et al. (2018), with a fixed number of steps."""
    g = {name.removeprefix("universal_layers/step/"): value for name, value in given.items()}
    probability = remainders = updates = np.zeros((BATCH, LENGTH))
    state, previous = x, np.zeros_like(x)
    for step in range(STEPS):
        state = state + coordinates(step)
        p = 1 / (1 + np.exp(-(state @ g["halting/w"] + g["halting/bias"])))
        running = (probability < 1.0 - 1e-12).astype(float)
        new_halted = (probability + p * running > 1 - EPS) * running
        running = (probability + p * running <= 1 - EPS) * running
        probability = probability + p * running
        remainders = remainders + new_halted * (1 - probability)
        probability = probability + new_halted * remainders
        updates = updates + running + new_halted
        weights = (p * running + new_halted * remainders)[..., None]
        after = state + attention(normalized(state, g, "self/norm"), g, "self/attention",
                                  lambda b: all_seen(lambda l, m: l - 4 < m <= l))
        inner = np.maximum(normalized(after, g, "ffn/norm") @ g["ffn/feed_forward/wi"], 0)
        state = after + inner @ g["ffn/feed_forward/wo"]
        previous = state * weights + previous * (1 - weights)
    return previous, updates + remainders


def states(x, given):
    """What is added up and multiplied by t, by the scope of its variables."""
    seen = given["seen"] > 0
    return {
        "": lambda: {"elu": elu(x, 0.7), "selu": 1.0507009873554805 * elu(x, 1.6732632423543772),
                     "leaky_relu": np.where(x > 0, x, 0.2 * x)},
        "multi": lambda: {"multi_query": multi_query(x, given)},
        "past": lambda: {"talking_past": talking_heads(x, given, "past", lambda b: all_seen(lambda l, m: m <= l))},
        "near": lambda: {"talking_near": talking_heads(
            x, given, "near", lambda b: all_seen(lambda l, m: seen[b, m] and abs(l - m) < 5))},
        "chunks": lambda: {"compressed": compressed(x, given, "chunks", CHUNKS, False)},
        "past_chunks": lambda: {"compressed_past": compressed(x, given, "past_chunks", WHOLE_CHUNKS, True)},
        "local_past": lambda: {"local_past": attention(
            x, given, "local_past", lambda b: all_seen(lambda l, m: seen[b, m] and l - 3 < m <= l))},
        "local": lambda: {"local": attention(x, given, "local", lambda b: all_seen(lambda l, m: abs(l - m) < 2))},
        "universal_layers": lambda: dict(zip(("universal", "ponder"), universal(x, given))),
    }


def classes(given):
    logs = mixture(given["x"], given)
    return {"mixture": logs, "cross_entropy": sigmoid_cross_entropy(20 * logs, given["labels"])}


def compute(given, scope=None):
    """The results; those of one scope alone, and their part in the loss, where it is named."""
    r, loss = {}, 0
    for name, part in states(given["x"], given).items():
        if scope in (None, name):
            found = part()
            loss += sum(value.sum() if which == "ponder" else (value * given["t"]).sum() for which, value in found.items())
            r.update(found)
    if scope in (None, "mixture_of_softmaxes", "table"):
        found = classes(given)
        loss += ((found["mixture"] + 0.1 * found["cross_entropy"]) * given["t_vocab"]).sum()
        r.update(found)
    return {**r, "loss": loss}


def gradient(given, name):
    scope = None if name == "x" else name.split("/")[0]
    result = np.zeros(SHAPES[name])
    for at in np.ndindex(SHAPES[name]):
        def moved(by):
            value = np.array(given[name])
            value[at] += by
            return compute({**given, name: value}, scope)["loss"]
        step = 1e-4
        result[at] = (8 * (moved(step) - moved(-step)) - (moved(2 * step) - moved(-2 * step))) / (12 * step)
    return result


def main():
    rng = np.random.default_rng(11)
    given = {}
    for name, shape in SHAPES.items():
        values = rng.standard_normal(shape) * (1 if len(shape) == 3 and shape[0] == BATCH else 0.5)
        given[name] = np.round(values, 3)
    given["labels"] = np.round(rng.random(SHAPES["labels"]), 2)
    given["labels"][0] = given["labels"][0] > 0.6
    given["seen"] = (rng.random((BATCH, LENGTH)) < 0.8).astype(int)
    given["seen"][:, 1:4] = 1
    given["universal_layers/step/halting/bias"] = np.array(0.4)
    for name in given:
        if name.endswith("norm/scale"):
            given[name] = given[name] + 1
    results = compute(given)
    # Differences across a kink would be no gradients.
    assert np.abs(given["x"]).min() > 2.1e-4
    for name in SHAPES:
        if name not in ("t", "t_vocab", "labels"):
            results["of/" + name] = gradient(given, name)
    as_lists = lambda tensors: {name: np.ravel(value).tolist() for name, value in tensors.items()}
    (FOLDER / "expected.json").write_text(json.dumps({"given": as_lists(given), "results": as_lists(results)}) + "\n")
    print("steps that positions took:", np.unique(np.floor(results["ponder"]), return_counts=True))


if __name__ == "__main__":
    main()
