#!/usr/bin/env python3
"""Training steps of a ResNet-18 and of a U-Net beside PyTorch's.

  scripts/bench/images.py [--build build] [--peer image_peer.py] [--rounds 5] [--json]

resnet: 8 images of 224 x 224, 1,000 classes. unet: 1 image of 256 x 256, four levels from 32 channels. Both on 1 rank of 2
threads, beside the faster of the peer's forms: channels first or last, its threads or those of its library."""
import argparse
import pathlib
import tempfile

import side_by_side as bench


def options(model):
    return [bench.ROOT / "models" / f"{model}.json", "--set", "lr=0.001"]


def peer_seconds(args, model):
    """The peer's forms, by two settings of its thread pools."""
    found = bench.peer_seconds(args, model, 2)
    return found + bench.peer_seconds(args, model, 2, ["--channels-last"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    bench.add_arguments(parser)
    bench.add_peer_argument(parser)
    args = parser.parse_args()
    bench.tell_settings()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        measures = {}
        for model in ("resnet", "unet"):
            measures[model] = lambda m=model: bench.step_seconds(args, folder, options(m), 1, 2, 5)
            if args.peer:
                measures["peer", model] = lambda m=model: peer_seconds(args, m)
        found = bench.medians(args.rounds, measures)
    for model in ("resnet", "unet"):
        if not args.peer:
            print(f"{model}: {found[model] * 1e3:.1f} ms")
            bench.say_skipped(model)
            continue
        forms = found["peer", model]
        bench.show(args, f"{model}, 1 rank x 2 threads", "times as fast as PyTorch", min(forms) / found[model], 1.0,
                   step_ms=round(found[model] * 1e3, 1), peer_ms=round(min(forms) * 1e3, 1))


if __name__ == "__main__":
    main()
