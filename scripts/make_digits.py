#!/usr/bin/env python3
"""Makes testdata/digits: a few hundred 28x28 images of drawn digits with their labels, as gzipped IDX files (the
format of MNIST), for where the real ones are not at hand. Needs nothing but Python; the same bytes every time."""
import gzip
import pathlib
import random
import struct

# The strokes (top, upper left, upper right, middle, lower left, lower right, bottom) that make up each digit.
STROKES = ["1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "1101111", "1010010", "1111111", "1111011"]
ROWS = 600
SIZE = 28


def line(image, x0, y0, x1, y1, width):
    for step in range(41):
        x, y = x0 + (x1 - x0) * step / 40, y0 + (y1 - y0) * step / 40
        for row in range(SIZE):
            for col in range(SIZE):
                distance = ((row - y) ** 2 + (col - x) ** 2) ** 0.5
                ink = max(0.0, min(1.0, width - distance + 0.5))
                image[row][col] = max(image[row][col], ink)


def draw(digit, rng):
    image = [[0.0] * SIZE for _ in range(SIZE)]
    left, top = 9 + rng.uniform(-2, 2), 5 + rng.uniform(-2, 2)
    w, h, slant = 9 + rng.uniform(-2, 2), 9 + rng.uniform(-1, 1), rng.uniform(-1.5, 3)
    width = rng.uniform(0.9, 1.7)

    def corner(column, row):  # rows 0, 1, 2 from the top; slanted
        return left + column * w + slant * (1 - row), top + row * h

    ends = [((0, 0), (1, 0)), ((0, 0), (0, 1)), ((1, 0), (1, 1)), ((0, 1), (1, 1)), ((0, 1), (0, 2)),
            ((1, 1), (1, 2)), ((0, 2), (1, 2))]
    for stroke, (a, b) in zip(STROKES[digit], ends):
        if stroke == "1":
            line(image, *corner(*a), *corner(*b), width)
    return bytes(min(255, int(255 * ink * rng.uniform(0.8, 1.0))) for row in image for ink in row)


def write(path, magic, shape, data):
    header = struct.pack(">I", magic) + b"".join(struct.pack(">I", n) for n in shape)
    with open(path, "wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as file:
        file.write(header + data)


def main():
    rng = random.Random(1)
    labels = [row % 10 for row in range(ROWS)]
    rng.shuffle(labels)
    folder = pathlib.Path(__file__).parent.parent / "testdata" / "digits"
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "images-idx3-ubyte.gz", 0x803, (ROWS, SIZE, SIZE), b"".join(draw(d, rng) for d in labels))
    write(folder / "labels-idx1-ubyte.gz", 0x801, (ROWS,), bytes(labels))


if __name__ == "__main__":
    main()
