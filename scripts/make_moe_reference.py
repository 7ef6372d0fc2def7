#!/usr/bin/env python3
"""Computes testdata/moe_reference: layers of experts by loops over tokens, in double precision: outputs, routes, losses
and all gradients. The rules are those of algorithm 1 of GShard (Lepikhin et al. 2020), of Switch (Fedus et al. 2021)
and of expert choice (Zhou et al. 2022), written out independently of mtfc; gradients are derived by hand and checked
here against central differences. Needs python3-numpy; the results are kept in the repository.

The draws of second choices are mtfc's own, since its random numbers are part of what a layer gives. They are read from
testdata/moe_reference/draws.json, which holds the tensor moe/random/draw of the first step with seed 0."""
import json
import math
import pathlib

import numpy as np

FOLDER = pathlib.Path(__file__).parent.parent / "testdata" / "moe_reference"
GROUPS, TOKENS, MODEL, HIDDEN = 8, 10, 5, 4
BALANCE_WEIGHT, Z_WEIGHT = 0.7, 0.3
CASES = {
    "top2": {"choice": 2, "experts": 8, "capacity_factor": 1, "random": 0, "count_unused": 0},
    "top2_random": {"choice": 2, "experts": 10, "capacity_factor": 1, "random": 1, "count_unused": 0},
    "top2_letter": {"choice": 2, "experts": 10, "capacity_factor": 1, "random": 1, "count_unused": 1},
    "top2_masked": {"choice": 2, "experts": 10, "capacity_factor": 1, "random": 1, "count_unused": 1, "masked": 1},
    "top1_ties": {"choice": 1, "experts": 10, "capacity_factor": 2, "random": 0, "count_unused": 0},
    "expert_choice": {"choice": 2, "experts": 10, "capacity_factor": 1, "random": 0, "count_unused": 0},
    "top2_absent": {"choice": 2, "experts": 10, "capacity_factor": 1, "random": 0, "count_unused": 0, "masked": 1},
}


def capacity_of(case):
    wanted = math.ceil(case["choice"] * TOKENS * case["capacity_factor"] / case["experts"])
    return min(TOKENS, max(1, wanted))


def chance_of(name):
    """That a token is present, for each group."""
    if name == "top2_absent":
        return 0
    return np.array([[0.6]] * (GROUPS - 1) + [[0]]) if name == "top2_masked" else 2


def start_of(name, case, seed):
    """A direction that all tokens share makes some experts more popular than others."""
    random = np.random.default_rng(seed)
    experts = case["experts"]
    shared = random.normal(size=MODEL)
    x = random.normal(size=(GROUPS, TOKENS, MODEL)) + 0.7 * shared
    gates = random.normal(size=(MODEL, experts))
    if name in ("top1_ties", "expert_choice"):
        gates[:, 1], gates[:, 7] = gates[:, 0], gates[:, 4]
        x[1, 3] = x[1, 2]
        x[2] = x[2, 0]
    return {
        "x": x,
        "gates": gates,
        "wi": random.normal(size=(experts, MODEL, HIDDEN)),
        "wo": random.normal(size=(experts, HIDDEN, MODEL)),
        "t": random.normal(size=(GROUPS, TOKENS, MODEL)),
        "present": (random.uniform(size=(GROUPS, TOKENS)) < chance_of(name)).astype(int),
    }


def gates_of(values, g, s):
    """The probabilities of a token, and the logsumexp of its logits."""
    experts = values["gates"].shape[1]
    logits = [sum(values["x"][g, s, m] * values["gates"][m, e] for m in range(MODEL)) for e in range(experts)]
    top = max(logits)
    total = sum(math.exp(logit - top) for logit in logits)
    return [math.exp(logit - top) / total for logit in logits], top + math.log(total)


def expert_of(values, e, token):
    inner = [sum(token[m] * values["wi"][e, m, h] for m in range(MODEL)) for h in range(HIDDEN)]
    active = [max(0.0, value) for value in inner]
    return inner, active, [sum(active[h] * values["wo"][e, h, m] for h in range(HIDDEN)) for m in range(MODEL)]


def best_of(probabilities, count):
    """Of equal ones, the first."""
    order = sorted(range(len(probabilities)), key=lambda i: (-probabilities[i], i))
    return order[:count]


def route_tokens(case, probabilities, draws, present):
    """For each group, token and choice: expert, place, if it is used and if it fits. Tokens that are not present are not
    used and take no places."""
    choice, capacity = case["choice"], capacity_of(case)
    routes = {}
    for g in range(GROUPS):
        count = [0] * case["experts"]
        chosen = [best_of(probabilities[g][s], choice) for s in range(TOKENS)]
        for c in range(choice):
            for s in range(TOKENS):
                e = chosen[s][c]
                used = True
                if case["random"] and c > 0:
                    total = sum(probabilities[g][s][i] for i in chosen[s])
                    used = draws[g][s][c] < min(1, 2 * probabilities[g][s][e] / total)
                counts = present[g, s] and (used or case["count_unused"])
                place = count[e] if counts else 0
                if counts:
                    count[e] += 1
                used = used and bool(present[g, s])
                routes[g, s, c] = (e, place, used, used and place < capacity)
    return routes


def weights_of(case, probabilities, chosen):
    if case["choice"] == 1:
        return [probabilities[chosen[0]]]
    total = sum(probabilities[e] for e in chosen)
    return [probabilities[e] / total for e in chosen]


def add_gradient_of_weights(case, probabilities, chosen, of_weights, of_probabilities):
    """Adds the gradients of the probabilities to `of_probabilities`."""
    if case["choice"] == 1:
        of_probabilities[chosen[0]] += of_weights[0]
        return
    total = sum(probabilities[e] for e in chosen)
    shared = sum(of_weights[c] * probabilities[e] for c, e in enumerate(chosen)) / total**2
    for c, e in enumerate(chosen):
        of_probabilities[e] += of_weights[c] / total - shared


class Gradients:
    def __init__(self, values):
        self.of = {name: np.zeros_like(value) for name, value in values.items() if name not in ("t", "present")}

    def add_expert(self, values, e, at, inner, active, weight, upstream):
        """One token's way through an expert, whose result is multiplied by `weight`."""
        g, s = at
        of_result = [weight * up for up in upstream]
        for h in range(HIDDEN):
            for m in range(MODEL):
                self.of["wo"][e, h, m] += active[h] * of_result[m]
            if inner[h] <= 0:
                continue
            of_inner = sum(of_result[m] * values["wo"][e, h, m] for m in range(MODEL))
            for m in range(MODEL):
                self.of["wi"][e, m, h] += values["x"][g, s, m] * of_inner
                self.of["x"][g, s, m] += values["wi"][e, m, h] * of_inner

    def add_gates(self, values, g, s, probabilities, log_sum, of_probabilities):
        """The z-loss is the mean of log_sum squared over tokens that are present, and d log_sum / d logit = probability."""
        z_share = values["present"][g, s] / max(1, values["present"].sum())
        mean = sum(probabilities[e] * of_probabilities[e] for e in range(len(probabilities)))
        for e, p in enumerate(probabilities):
            of_logit = p * (of_probabilities[e] - mean) + Z_WEIGHT * 2 * log_sum * p * z_share
            for m in range(MODEL):
                self.of["gates"][m, e] += values["x"][g, s, m] * of_logit
                self.of["x"][g, s, m] += values["gates"][m, e] * of_logit


def all_gates(values):
    gates = [[gates_of(values, g, s) for s in range(TOKENS)] for g in range(GROUPS)]
    return [[p for p, _ in row] for row in gates], [[z for _, z in row] for row in gates]


def token_choice(case, values, draws, routes=None):
    """Top-2 and top-1 routing. With `routes`, these are kept: for differences, across which routes must not change."""
    experts = case["experts"]
    probabilities, log_sums = all_gates(values)
    routes = routes or route_tokens(case, probabilities, draws, values["present"])
    gradients, y = Gradients(values), np.zeros((GROUPS, TOKENS, MODEL))
    first = [[0] * experts for _ in range(GROUPS)]
    present = values["present"]
    size = [max(1, sum(present[g])) for g in range(GROUPS)]
    filled = max(1, sum(any(present[g]) for g in range(GROUPS)))
    mean = [[sum(probabilities[g][s][e] * present[g, s] for s in range(TOKENS)) / size[g] for e in range(experts)]
            for g in range(GROUPS)]
    for g in range(GROUPS):
        for s in range(TOKENS):
            first[g][routes[g, s, 0][0]] += int(present[g, s])
    weights = np.zeros((GROUPS, TOKENS, case["choice"]))
    load, used_count, placed = [0] * experts, 0, 0
    for g in range(GROUPS):
        for s in range(TOKENS):
            chosen = [routes[g, s, c][0] for c in range(case["choice"])]
            weights[g, s] = weights_of(case, probabilities[g][s], chosen)
            of_weights, of_probabilities = [0.0] * case["choice"], [0.0] * experts
            for c in range(case["choice"]):
                e, _, used, fits = routes[g, s, c]
                load[e] += used
                used_count += used
                placed += fits
                if not fits:
                    continue
                inner, active, result = expert_of(values, e, values["x"][g, s])
                for m in range(MODEL):
                    y[g, s, m] += weights[g, s, c] * result[m]
                    of_weights[c] += result[m] * values["t"][g, s, m]
                gradients.add_expert(values, e, (g, s), inner, active, weights[g, s, c], values["t"][g, s])
            add_gradient_of_weights(case, probabilities[g][s], chosen, of_weights, of_probabilities)
            for e in range(experts):
                of_probabilities[e] += present[g, s] * BALANCE_WEIGHT * first[g][e] / size[g] / size[g] / (filled * experts)
            gradients.add_gates(values, g, s, probabilities[g][s], log_sums[g][s], of_probabilities)
    balance = sum(mean[g][e] * first[g][e] / size[g] for g in range(GROUPS) for e in range(experts)) / (filled * experts)
    z_loss = sum(z**2 * here for row, held in zip(log_sums, present) for z, here in zip(row, held)) / max(1, present.sum())
    loss = float((y * values["t"]).sum()) + BALANCE_WEIGHT * balance + Z_WEIGHT * z_loss

    def routed(i):
        return [[[int(routes[g, s, c][i]) for c in range(case["choice"])] for s in range(TOKENS)] for g in range(GROUPS)]

    found = {"y": y, "chosen": routed(0), "place": routed(1), "used": routed(2), "fits": routed(3), "weights": weights,
             "balance": balance, "z_loss": z_loss, "load": [n / max(1, used_count) for n in load],
             "dropped": (used_count - placed) / max(1, used_count), "loss": loss}
    return found, gradients.of, routes


def expert_choice(case, values, _, routes=None):
    """Each expert takes the tokens of the group that have the highest probability for it."""
    experts, capacity = case["experts"], capacity_of(case)
    probabilities, log_sums = all_gates(values)
    if not routes:
        routes = {(g, e): best_of([probabilities[g][s][e] for s in range(TOKENS)], capacity)
                  for g in range(GROUPS) for e in range(experts)}
    gradients, y = Gradients(values), np.zeros((GROUPS, TOKENS, MODEL))
    of_probabilities = np.zeros((GROUPS, TOKENS, experts))
    taken = np.zeros((GROUPS, TOKENS), dtype=bool)
    for (g, e), tokens in routes.items():
        for s in tokens:
            taken[g, s] = True
            inner, active, result = expert_of(values, e, values["x"][g, s])
            for m in range(MODEL):
                y[g, s, m] += probabilities[g][s][e] * result[m]
                of_probabilities[g, s, e] += result[m] * values["t"][g, s, m]
            gradients.add_expert(values, e, (g, s), inner, active, probabilities[g][s][e], values["t"][g, s])
    for g in range(GROUPS):
        for s in range(TOKENS):
            gradients.add_gates(values, g, s, probabilities[g][s], log_sums[g][s], of_probabilities[g, s])
    z_loss = sum(z**2 for row in log_sums for z in row) / (GROUPS * TOKENS)
    chosen = [[[routes[g, e][p] for g in range(GROUPS)] for p in range(capacity)] for e in range(experts)]
    weights = [[[probabilities[g][routes[g, e][p]][e] for g in range(GROUPS)] for p in range(capacity)]
               for e in range(experts)]
    found = {"y": y, "chosen": chosen, "weights": weights, "z_loss": z_loss,
             "dropped": 1 - int(taken.sum()) / (GROUPS * TOKENS),
             "loss": float((y * values["t"]).sum()) + Z_WEIGHT * z_loss}
    return found, gradients.of, routes


def check_gradients(layer, case, values, draws, gradients, routes):
    """Moves each kind of value along a direction."""
    random = np.random.default_rng(99)
    for name, gradient in gradients.items():
        direction = random.normal(size=gradient.shape)
        ends = []
        for distance in (1e-6, -1e-6):
            moved = {**values, name: values[name] + distance * direction}
            ends.append(layer(case, moved, draws, routes)[0]["loss"])
        slope, expected = (ends[0] - ends[1]) / 2e-6, float((gradient * direction).sum())
        if abs(slope - expected) > 1e-6 * (1 + abs(expected)):
            raise SystemExit(f"the gradient of {name} is {expected} along a direction in which the loss rises by {slope}")


def as_list(value):
    return value.ravel().tolist() if isinstance(value, np.ndarray) else np.array(value).ravel().tolist()


def main():
    draws = json.loads((FOLDER / "draws.json").read_text())
    draws = np.array(draws["elements"]).reshape(draws["shape"])
    for seed, (name, case) in enumerate(CASES.items()):
        layer = expert_choice if name == "expert_choice" else token_choice
        values = start_of(name, case, 17 + seed)
        found, gradients, routes = layer(case, values, draws)
        check_gradients(layer, case, values, draws, gradients, routes)
        capacity = capacity_of(case)
        sizes = {"groups": GROUPS, "tokens": TOKENS, "d_model": MODEL, "d_ff": HIDDEN,
                 **{key: case[key] for key in ("experts", "choice", "capacity_factor")}}
        written = {"sizes": sizes, "capacity": capacity, "random": case["random"], "count_unused": case["count_unused"], "masked": case.get("masked", 0),
                   "start": {key: as_list(value) for key, value in values.items()},
                   "results": {key: as_list(value) for key, value in found.items()},
                   "gradients": {key: as_list(value) for key, value in gradients.items()}}
        (FOLDER / f"{name}.json").write_text(json.dumps(written) + "\n")
        print(f"{name}: capacity {capacity}, {100 * found['dropped']:.1f} % dropped, loss {found['loss']:.6f}")


if __name__ == "__main__":
    main()
