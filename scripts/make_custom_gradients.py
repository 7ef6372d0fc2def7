#!/usr/bin/env python3
"""Computes testdata/custom_gradients/expected.json in NumPy: the loss and the gradients of all variables of the model
there, whose blocks state gradients of their own. The gradients are written out by hand, by the rules that the backward
blocks state; those of the layers are checked here against central differences. Needs python3-numpy; the results are
kept in the repository."""
import json
import pathlib

import numpy as np

FOLDER = pathlib.Path(__file__).parent.parent / "testdata" / "custom_gradients"
BATCH, FROM, TO, STEP, LIMIT, STRENGTH = 4, 5, 6, 0.25, 0.1, 0.5
LAYERS = ["both_ways_0/there", "both_ways_0/back", "both_ways_1/there", "both_ways_1/back"] + ["shared/there", "shared/back"] * 3


def forward(given):
    states = [given["x"]]
    for layer in LAYERS:
        states.append(np.tanh(states[-1] @ given[layer + "/w"] + given[layer + "/b"]))
    h = np.tanh(states[-1] @ given["last/w"] + given["last/b"])
    u = given["x"] @ (np.round(given["w"] / STEP) * STEP)
    error = u + h + states[-1] @ given["by_hand/weight"].T - given["t"]
    return states, h, error, (error ** 2).mean()


def gradients(given, strength=-STRENGTH):
    states, h, error, _ = forward(given)
    given_back = 2 * error / error.size
    found = {name: np.zeros_like(value) for name, value in given.items() if name not in ("x", "t")}
    found["w"] = given["x"].T @ np.clip(given_back, -LIMIT, LIMIT)
    of_z = strength * given_back
    found["by_hand/weight"] = of_z.T @ states[-1]

    def back(layer, before, after, gradient):
        g = gradient * (1 - after ** 2)
        found[layer + "/w"] += before.T @ g
        found[layer + "/b"] += g.sum(axis=0)
        return g @ given[layer + "/w"].T

    gradient = back("last", states[-1], h, given_back) + of_z @ given["by_hand/weight"]
    for i in reversed(range(len(LAYERS))):
        gradient = back(LAYERS[i], states[i], states[i + 1], gradient)
    return found


def main():
    rng = np.random.default_rng(5)
    shapes = {"x": (BATCH, FROM), "t": (BATCH, TO), "w": (FROM, TO), "by_hand/weight": (TO, FROM)}
    for layer in dict.fromkeys(LAYERS + ["last"]):
        back = layer.endswith("back")
        shapes[layer + "/w"] = (TO, FROM) if back else (FROM, TO)
        shapes[layer + "/b"] = (FROM,) if back else (TO,)
    given = {name: np.round(rng.standard_normal(shape) * 0.7, 3) for name, shape in shapes.items()}
    results = gradients(given)
    # Without the reversal, and where nothing is rounded or clipped, these are the true gradients.
    true = gradients(given, 1)
    for name in true:
        at = tuple(0 for _ in given[name].shape)
        if name != "w":
            sides = []
            for by in (1e-5, -1e-5):
                moved = given[name].copy()
                moved[at] += by
                sides.append(forward({**given, name: moved})[3])
            assert abs((sides[0] - sides[1]) / 2e-5 - true[name][at]) < 1e-8, name
    back = 2 * forward(given)[2] / (BATCH * TO)
    print("clipped:", (np.abs(back) > LIMIT).sum(), "of", back.size)
    results = {"loss": forward(given)[3], **{name + "/grad": value for name, value in results.items()}}
    as_lists = lambda tensors: {name: np.ravel(value).tolist() for name, value in tensors.items()}
    (FOLDER / "expected.json").write_text(json.dumps({"given": as_lists(given), "results": as_lists(results)}) + "\n")


if __name__ == "__main__":
    main()
