#!/usr/bin/python3
"""Times training steps of moe_lm written in PyTorch: the peer of mixture_of_experts.py. Needs python3-torch.

  scripts/bench/mixture_peer.py [--threads 2] [--only by_index,by_mask] [--runs 5]

Tokens reach their experts by index_add and gather, or by products with one-hot masks, as in the GShard paper. Prints a
JSON object a line."""
import peer
import torch
import torch.nn.functional as F
from torch import nn

BATCH, LENGTH, VOCAB, MODEL, HIDDEN, LAYERS, HEADS, EXPERTS = 8, 256, 256, 256, 1024, 4, 4, 8
CAPACITY = 2 * LENGTH // EXPERTS  # a group is a sequence


def weight(*shape):
    return nn.Parameter(torch.randn(*shape) * shape[-2] ** -0.5)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(MODEL)
        self.qkv, self.out = weight(MODEL, 3 * MODEL), weight(MODEL, MODEL)
        self.mask = torch.triu(torch.full((LENGTH, LENGTH), -1e9), 1)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, HEADS, d // HEADS).transpose(1, 2) for z in (self.norm(x) @ self.qkv).split(d, 2))
        weights = (q @ k.transpose(-2, -1) * (d // HEADS) ** -0.5 + self.mask).softmax(-1)
        return x + (weights @ v).transpose(1, 2).reshape(b, t, d) @ self.out


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.wi, self.wo = nn.LayerNorm(MODEL), weight(MODEL, HIDDEN), weight(HIDDEN, MODEL)

    def forward(self, x):
        return x + F.relu(self.norm(x) @ self.wi) @ self.wo


class Mixture(nn.Module):
    """Two experts a token, with random second choices and the loss for an even load."""

    def __init__(self, by_mask):
        super().__init__()
        self.norm, self.gates = nn.LayerNorm(MODEL), weight(MODEL, EXPERTS)
        self.wi, self.wo, self.by_mask = weight(EXPERTS, MODEL, HIDDEN), weight(EXPERTS, HIDDEN, MODEL), by_mask

    def route(self, x):
        probabilities = (x @ self.gates).softmax(-1)
        best, chosen = probabilities.topk(2, -1)
        weights = best / best.sum(-1, keepdim=True)
        used = torch.rand_like(weights) < 2 * weights
        used[..., 0] = True
        hot = F.one_hot(chosen, EXPERTS) * used[..., None]  # [groups, tokens, choice, experts]
        ordered = hot.transpose(1, 2).flatten(1, 2)         # all first choices before the second ones
        place = ((ordered.cumsum(1) - ordered) * ordered).sum(-1).view(-1, 2, LENGTH).transpose(1, 2)
        first = F.one_hot(chosen[..., 0], EXPERTS).float().mean(1)
        balance = (first * probabilities.mean(1)).mean() * EXPERTS**2
        return chosen, place, used & (place < CAPACITY), weights, balance

    def experts(self, table):
        """[experts, tokens, model]"""
        return torch.bmm(F.relu(torch.bmm(table, self.wi)), self.wo)

    def index(self, x, chosen, place, fits, weights):
        rows = EXPERTS * CAPACITY * BATCH
        group = torch.arange(BATCH)[:, None, None]
        slot = torch.where(fits, (chosen * BATCH + group) * CAPACITY + place, rows)
        table = torch.zeros(rows + 1, MODEL)
        for choice in range(2):
            table = table.index_add(0, slot[..., choice].flatten(), x.reshape(-1, MODEL))
        results = self.experts(table[:rows].view(EXPERTS, BATCH * CAPACITY, MODEL)).view(rows, MODEL)
        results = torch.cat([results, torch.zeros(1, MODEL)])
        return sum(results[slot[..., c]] * (weights[..., c] * fits[..., c])[..., None] for c in range(2))

    def mask(self, x, chosen, place, fits, weights):
        expert = F.one_hot(chosen, EXPERTS).float() * fits[..., None]
        at = F.one_hot(place.clamp(max=CAPACITY - 1), CAPACITY).float()
        dispatch = torch.einsum("gske,gskc->gsec", expert, at)
        combine = torch.einsum("gske,gskc,gsk->gsec", expert, at, weights)
        table = torch.einsum("gsec,gsm->egcm", dispatch, x).reshape(EXPERTS, -1, MODEL)
        results = self.experts(table).view(EXPERTS, BATCH, CAPACITY, MODEL)
        return torch.einsum("gsec,egcm->gsm", combine, results)

    def forward(self, x):
        normed = self.norm(x)
        *routes, balance = self.route(normed)
        return x + (self.mask if self.by_mask else self.index)(normed, *routes), balance


class MixtureModel(nn.Module):
    def __init__(self, by_mask):
        super().__init__()
        self.embed, self.position = nn.Embedding(VOCAB, MODEL), nn.Embedding(LENGTH, MODEL)
        self.attentions = nn.ModuleList(Attention() for _ in range(LAYERS))
        self.dense = nn.ModuleList(FeedForward() for _ in range(LAYERS // 2))
        self.mixtures = nn.ModuleList(Mixture(by_mask) for _ in range(LAYERS // 2))
        self.norm, self.output = nn.LayerNorm(MODEL), weight(VOCAB, MODEL)

    def forward(self, tokens, targets):
        x, penalty = self.embed(tokens) + self.position.weight, 0
        for i in range(LAYERS // 2):
            x = self.dense[i](self.attentions[2 * i](x))
            x, balance = self.mixtures[i](self.attentions[2 * i + 1](x))
            penalty = penalty + 0.01 * balance
        logits = self.norm(x) @ self.output.T
        return F.cross_entropy(logits.view(-1, VOCAB), targets.view(-1)) + penalty


def median_seconds(name, args):
    model = MixtureModel(name == "by_mask")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.randint(0, VOCAB, (BATCH, LENGTH))
    return peer.median_step_seconds(model, optimizer, lambda model: model(tokens, tokens), args.runs)


if __name__ == "__main__":
    peer.run(__doc__, ["by_index", "by_mask"], median_seconds)
