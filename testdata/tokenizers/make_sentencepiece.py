#!/usr/bin/env python3
"""Writes small models of sentencepiece into this folder, and sentencepiece.json: the ids that its own programs, of Debian's
package sentencepiece, make of random lines, and the texts that they make of these ids.

  testdata/tokenizers/make_sentencepiece.py
"""
import json
import pathlib
import random
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
LINES = 250  # for each model

# As published models have them: the options of spm_train.
IDENTITY = ["--normalization_rule_name=identity", "--remove_extra_whitespaces=false", "--byte_fallback=true"]
MODELS = {
    "llama": ["--model_type=bpe", "--vocab_size=700", "--split_digits=true", *IDENTITY],
    "gemma": ["--model_type=bpe", "--vocab_size=600", "--add_dummy_prefix=false", "--pad_id=0", "--eos_id=1", "--bos_id=2",
              "--unk_id=3", "--user_defined_symbols=<turn>,<turn>x,\n,\n\n", *IDENTITY],
    "t5": ["--model_type=unigram", "--vocab_size=400", "--pad_id=0", "--eos_id=1", "--unk_id=2", "--bos_id=-1"],
    "suffix": ["--model_type=unigram", "--vocab_size=600", "--treat_whitespace_as_suffix=true", *IDENTITY],
}
# The rules of `t5`, in place of the usual ones, which take 240 KB: from code points to code points. The beginnings of the
# first four lead to the same units of the table.
RULES = ["3000\t20", "2000\t20", "2003\t20", "3003\t20", "9\t20", "A\t20", "A0\t20", "FB01\t66 69", "2460\t31", "65 301\tE9", "C4\t41 308", "7F\t"]
RULES += [f"{code:X}\t{code - 0xFEE0:X}" for code in range(0xFF01, 0xFF5F)]


def run(program, given, *arguments):
    return subprocess.run([program, *arguments], input=given, check=True, capture_output=True).stdout


def train(name, options, folder):
    text = "\n".join((CHECKOUT / file).read_text() for file in ("README.md", "models/README.md"))
    source, rules = folder / "text.txt", folder / "rules.tsv"
    source.write_text(text)
    rules.write_text("\n".join(RULES) + "\n")
    more = [f"--normalization_rule_tsv={rules}"] if name == "t5" else []
    run("spm_train", b"", f"--input={source}", f"--model_prefix={folder / name}", "--minloglevel=2",
        "--max_sentence_length=9000", "--num_threads=1", "--input_sentence_size=0", *options, *more)
    # The names of the files are no part of a model.
    data = (folder / f"{name}.model").read_bytes()
    for path in (source, rules, folder / name):
        data = data.replace(str(path).encode(), b"x" * len(str(path)))
    (HERE / f"{name}.model").write_bytes(data)


def random_line(draw, lines):
    kinds = [
        lambda: draw.choice(lines)[:draw.randint(1, 50)],
        lambda: "".join(draw.choice(" \t\r\u3000\u00a0\u2581") for _ in range(draw.randint(1, 4))),
        lambda: "".join(draw.choice("0123456789.,") for _ in range(draw.randint(1, 6))),
        lambda: "".join(chr(draw.choice(range(*draw.choice(
            [(0x20, 0x7f), (0xa1, 0x250), (0x370, 0x500), (0x4e00, 0xa000), (0xff01, 0xff5f), (0x1f300, 0x1f600)]))))
            for _ in range(draw.randint(1, 5))),
        lambda: draw.choice(["<turn>", "<turn>x", "<s>", "<unk>", "\ufb01n", "e\u0301", "\u2460", "\u0000"]),
    ]
    return "".join(draw.choice(kinds)() for _ in range(draw.choice([0, 1, 2, 3, 5])))


def main():
    draw = random.Random(1)
    lines = [line for line in (CHECKOUT / "cmd/README.md").read_text().splitlines() if line]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name, options in MODELS.items():
            train(name, options, pathlib.Path(folder))
            model = f"--model={HERE / name}.model"
            texts = [random_line(draw, lines) for _ in range(LINES)]
            given = "".join(text + "\n" for text in texts).encode()
            ids = run("spm_encode", given, model, "--output_format=id").decode().split("\n")[:-1]
            decoded = run("spm_decode", "".join(line + "\n" for line in ids).encode(), model, "--input_format=id")
            decoded = decoded.decode().split("\n")[:-1]
            assert len(ids) == len(texts) == len(decoded)
            cases = [[text, [int(id) for id in line.split()], *([] if text == plain else [plain])]
                     for text, line, plain in zip(texts, ids, decoded)]
            found.append(f'{{"name": "{name}", "cases": [\n' +
                         ",\n".join(json.dumps(case, ensure_ascii=False, separators=(",", ":")) for case in cases) + "]}")
    (HERE / "sentencepiece.json").write_text("[\n" + ",\n".join(found) + "]\n")


main()
