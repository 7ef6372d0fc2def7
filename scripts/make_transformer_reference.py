#!/usr/bin/env python3
"""Computes testdata/transformer_reference: two steps of small versions of the bundled Transformers under every
optimizer, in double precision: losses, the gradients of the first step, the weights after each. The layers are written
out from the papers' definitions, independent of mtfc; gradients are PyTorch's, and so are the optimizers but for
Adafactor, which is written out in NumPy (Shazeer and Stern 2018; GShard, appendix A.2). Needs python3-numpy and
python3-torch; the results are kept in the repository.

Arrays of many tensors are these one after the other, in the order of `variables` in expected.json."""
import json
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

STEPS = 2
OPTIMIZERS = ("sgd", "momentum", "adam", "adamw", "adafactor")
FOLDER = pathlib.Path(__file__).parent.parent / "testdata" / "transformer_reference"
SIZES = {"batch": 3, "length": 5, "d_model": 7, "heads": 3, "d_kv": 2, "d_ff": 10, "vocab": 11, "layers": 2}
PEAK, WARMUP, WEIGHT_DECAY, SMOOTHING, Z_LOSS, PAD = 0.02, 2, 0.1, 0.1, 0.02, 0


def attention_shapes(at):
    model, heads, kv = SIZES["d_model"], SIZES["heads"], SIZES["d_kv"]
    into = (model, heads, kv)
    return {f"{at}/wq": into, f"{at}/wk": into, f"{at}/wv": into, f"{at}/wo": (heads, kv, model)}


def norm_shapes(at):
    return {f"{at}/scale": (SIZES["d_model"],), f"{at}/bias": (SIZES["d_model"],)}


def layer_shapes(at, attentions):
    model, hidden = SIZES["d_model"], SIZES["d_ff"]
    shapes = {}
    for part in attentions:
        shapes.update({**norm_shapes(f"{at}/{part}/norm"), **attention_shapes(f"{at}/{part}/attention")})
    return {**shapes, **norm_shapes(f"{at}/ffn/norm"), f"{at}/ffn/feed_forward/wi": (model, hidden),
            f"{at}/ffn/feed_forward/wo": (hidden, model)}


def stack_shapes(at, attentions):
    """Of learned positions, layers and the norm after the last; `at` is "" or ends in a slash."""
    shapes = {f"{at}position/table": (SIZES["length"], SIZES["d_model"]), **norm_shapes(f"{at}norm")}
    for layer in range(SIZES["layers"]):
        shapes.update(layer_shapes(f"{at}layer_{layer}", attentions))
    return shapes


def table_shapes(*users):
    return {f"{user}/table": (SIZES["vocab"], SIZES["d_model"]) for user in users}


def norm(w, at, x):
    mean = x.mean(dim=-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(dim=-1, keepdim=True)
    return (x - mean) / torch.sqrt(variance + 1e-5) * w[f"{at}/scale"] + w[f"{at}/bias"]


def attention(w, at, x, memory, seen):
    """One head after the other, from x [batch, length, model] to memory; `seen` is a bool that broadcasts to
    [batch, length, memory_length]."""
    wq, wk, wv, wo = (w[f"{at}/w{which}"] for which in "qkvo")
    result = 0
    for head in range(SIZES["heads"]):
        q, k, v = x @ wq[:, head], memory @ wk[:, head], memory @ wv[:, head]
        scores = q @ k.transpose(1, 2) / SIZES["d_kv"] ** 0.5
        weights = torch.softmax(scores.masked_fill(~seen, float("-inf")), dim=-1)
        result = result + weights @ v @ wo[head]
    return result


def feed_forward(w, at, x):
    return torch.relu(x @ w[f"{at}/wi"]) @ w[f"{at}/wo"]


def run_stack(w, at, x, own_seen, memory=None, memory_seen=None):
    x = x + w[f"{at}position/table"]
    for number in range(SIZES["layers"]):
        layer = f"{at}layer_{number}"
        n = norm(w, f"{layer}/self/norm", x)
        x = x + attention(w, f"{layer}/self/attention", n, n, own_seen)
        if memory is not None:
            n = norm(w, f"{layer}/cross/norm", x)
            x = x + attention(w, f"{layer}/cross/attention", n, memory, memory_seen)
        x = x + feed_forward(w, f"{layer}/ffn/feed_forward", norm(w, f"{layer}/ffn/norm", x))
    return norm(w, f"{at}norm", x)


def causal():
    return torch.tril(torch.ones(SIZES["length"], SIZES["length"], dtype=torch.bool))


def lm_loss(w, inputs):
    x = run_stack(w, "", w["embedding/table"][inputs["tokens"]], causal())
    logits = x @ w["output/table" if "output/table" in w else "embedding/table"].T
    return F.cross_entropy(logits.flatten(0, 1), inputs["targets"].flatten())


def encdec_loss(w, inputs):
    seen = (inputs["sources"] != PAD)[:, None, :]
    memory = run_stack(w, "encoder/", w["embedding/table"][inputs["sources"]], seen)
    x = run_stack(w, "decoder/", w["embedding/table"][inputs["tokens"]], causal(), memory, seen)
    logits = x @ w["output/table"].T
    # The target distribution: 1 - SMOOTHING on the target, the rest spread over all classes.
    wanted = (1 - SMOOTHING) * F.one_hot(inputs["targets"], SIZES["vocab"]).double() + SMOOTHING / SIZES["vocab"]
    log_z = torch.log(torch.exp(logits).sum(dim=-1))
    losses = -(wanted * torch.log_softmax(logits, dim=-1)).sum(dim=-1) + Z_LOSS * log_z ** 2
    return losses[inputs["targets"] != PAD].mean()


def rate(step):
    return PEAK * min(step / WARMUP, (WARMUP / step) ** 0.5)


class Adafactor:
    """Without a first moment; second moments as their means over each of the two largest dimensions."""

    def __init__(self, w):
        self.w, self.rows, self.columns, self.whole = w, {}, {}, {}

    def second_moment(self, name, square, kept):
        if square.ndim < 2:
            self.whole[name] = kept * self.whole.get(name, 0) + (1 - kept) * square
            return self.whole[name]
        first, second = sorted(np.argsort(square.shape, kind="stable")[-2:])
        last = np.moveaxis(square, (first, second), (-2, -1))
        self.rows[name] = kept * self.rows.get(name, 0) + (1 - kept) * last.mean(axis=-1)
        self.columns[name] = kept * self.columns.get(name, 0) + (1 - kept) * last.mean(axis=-2)
        r, c = self.rows[name], self.columns[name]
        whole = np.einsum("...i,...j,...->...ij", r, c, 1 / r.mean(axis=-1))
        return np.moveaxis(whole, (-2, -1), (first, second))

    def step(self, number):
        kept = min(0.99, 1 - number ** -0.8)
        for name, value in self.w.items():
            gradient = value.grad.numpy()
            u = gradient / np.sqrt(self.second_moment(name, gradient ** 2 + 1e-30, kept))
            u = u / max(1.0, np.sqrt((u ** 2).mean()) / 1.0)
            value.data -= rate(number) * torch.from_numpy(u)


class FromTorch:
    def __init__(self, kind, w):
        spared = [value for name, value in w.items() if name.endswith(("/bias", "/scale"))]
        others = [value for name, value in w.items() if not name.endswith(("/bias", "/scale"))]
        if kind == "adamw":
            groups = [{"params": others, "weight_decay": WEIGHT_DECAY}, {"params": spared, "weight_decay": 0.0}]
            self.optimizer = torch.optim.AdamW(groups, lr=PEAK)
        elif kind == "adam":
            self.optimizer = torch.optim.Adam(w.values(), lr=PEAK)
        else:
            self.optimizer = torch.optim.SGD(w.values(), lr=PEAK, momentum=0.9 if kind == "momentum" else 0)

    def step(self, number):
        for group in self.optimizer.param_groups:
            group["lr"] = rate(number)
        self.optimizer.step()


def flat(tensors):
    return np.concatenate([np.ravel(tensor.detach().numpy()) for tensor in tensors])


def train(kind, loss_of, start, inputs):
    """Losses, gradients of the first step, and the weights after each step."""
    w = {name: torch.tensor(value, dtype=torch.float64, requires_grad=True) for name, value in start.items()}
    optimizer = Adafactor(w) if kind == "adafactor" else FromTorch(kind, w)
    losses, gradients, ends = [], None, []
    for number in range(1, STEPS + 1):
        for value in w.values():
            value.grad = None
        loss = loss_of(w, inputs)
        loss.backward()
        losses.append(loss.item())
        if gradients is None:
            gradients = flat(value.grad for value in w.values())
        optimizer.step(number)
        ends.append(flat(w.values()))
    return losses, gradients, np.stack(ends)


def drawn(rng, shapes):
    """Of f32, so that computations in f32 start from the same numbers."""
    start = {}
    for name, shape in shapes.items():
        spread = 0.2 if name.endswith(("/bias", "/scale")) else 0.5
        start[name] = (rng.standard_normal(shape) * spread + name.endswith("/scale")).astype(np.float32)
    return start


def tokens(rng, lengths=None):
    """Ids, with padding from `lengths` of each sentence on where these are given."""
    ids = rng.integers(0 if lengths is None else PAD + 1, SIZES["vocab"], size=(SIZES["batch"], SIZES["length"]))
    if lengths is not None:
        ids[np.arange(SIZES["length"]) >= np.array(lengths)[:, None]] = PAD
    return ids.astype(np.int32)


def store(name, model, loss_of, start, inputs, more):
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    for key, array in inputs.items():
        np.save(folder / f"{key}.npy", array)
    np.save(folder / "start.npy", np.concatenate([np.ravel(value) for value in start.values()]))
    ids = {key: torch.tensor(array, dtype=torch.int64) for key, array in inputs.items()}
    losses = {}
    for kind in OPTIMIZERS:
        losses[kind], gradients, ends = train(kind, loss_of, start, ids)
        np.save(folder / f"{kind}.npy", ends)
    np.save(folder / "gradients.npy", gradients)
    sets = {**SIZES, "lr": PEAK, "warmup": WARMUP, "weight_decay": WEIGHT_DECAY, **more}
    expected = {"model": model, "sets": sets, "inputs": list(inputs),
                "variables": {key: list(value.shape) for key, value in start.items()}, "losses": losses}
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


def main():
    rng = np.random.default_rng(3)
    lm, encdec = "transformer_lm", "transformer_encdec"
    shapes = {**table_shapes("embedding", "output"), **stack_shapes("", ["self"])}
    store(lm, lm, lm_loss, drawn(rng, shapes), {"tokens": tokens(rng), "targets": tokens(rng)}, {})
    shapes = {**table_shapes("embedding"), **stack_shapes("", ["self"])}
    store("transformer_lm_tied", lm, lm_loss, drawn(rng, shapes), {"tokens": tokens(rng), "targets": tokens(rng)},
          {"tie_embeddings": 1})
    shapes = {**table_shapes("embedding", "output"), **stack_shapes("encoder/", ["self"]),
              **stack_shapes("decoder/", ["self", "cross"])}
    inputs = {"sources": tokens(rng, (4, 5, 2)), "tokens": tokens(rng), "targets": tokens(rng, (5, 3, 4))}
    store(encdec, encdec, encdec_loss, drawn(rng, shapes), inputs, {"smoothing": SMOOTHING, "z_loss": Z_LOSS})


if __name__ == "__main__":
    main()
