// Writes the tokenizers of this folder, and what the reference implementation in Rust, the npm package `tokenizers`, makes
// of some texts with them. Each file has the texts, and a list of {name, tokenizer, cases}: the text of a tokenizer.json,
// and for each text the ids, and the text that these give with and without special tokens, where it is not the same.
// Vocabularies are trained on README.md, and cut.
//
//   npm install --prefix FOLDER tokenizers
//   node testdata/tokenizers/make.mjs FOLDER

import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const library = createRequire(join(resolve(process.argv[2]), "package.json"))("tokenizers");
const here = import.meta.dirname;
const readme = join(here, "../../README.md");

// The JSON of a model of this kind, trained after the pre-tokenizer has cut the text into words.
function trained(kind, preTokenizer) {
  const tokenizer = new library.Tokenizer(library[kind].empty());
  tokenizer.setPreTokenizer(preTokenizer);
  tokenizer.train([readme]);
  const path = join(mkdtempSync(join(tmpdir(), "tokenizer-")), "tokenizer.json");
  tokenizer.save(path);
  return JSON.parse(readFileSync(path, "utf8")).model;
}

// A vocabulary of these characters and the first merges.
function cutBpe(model, characters, count) {
  const merges = model.merges.slice(0, count);
  const tokens = [...characters, ...merges.map(([left, right]) => left + right)];
  return { ...model, merges, vocab: Object.fromEntries([...new Set(tokens)].map((token, id) => [token, id])) };
}

const bytes = library.byteLevelAlphabet ? library.byteLevelAlphabet().sort() : [];
const special = (id, content, settings = {}) =>
  ({ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true, ...settings });
const file = (settings) =>
  ({ version: "1.0", truncation: null, padding: null, added_tokens: [], normalizer: null, pre_tokenizer: null,
    post_processor: null, decoder: null, ...settings });
const split = (Regex, behavior = "Isolated", invert = false) => ({ type: "Split", pattern: { Regex }, behavior, invert });
const byteLevel = (settings = {}) =>
  ({ type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true, ...settings });
const sequence = (key, ...list) => ({ type: "Sequence", [key]: list });

const texts = [
  "", " ", "\n", "a", "Hello world", "Hello, world! It's 2026-11-30.", "  two  blanks  ", "tab\there\r\n\r\nnext\n\n\n  line",
  "the layout of the model, which they'll say we've split; I'D KNOW", "1234567 12 3.14159 1,000,000 \u0663\u0664 \u00bd\u2167",
  "d\u00e9j\u00e0 vu, na\u00efve caf\u00e9, e\u0301 \u0041\u030a", "\u0130stanbul \u03a3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2 STRASSE \u00df \u017f",
  "\u4f60\u597d\u4e16\u754c\uff0c\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8 \ud55c\uad6d\uc5b4", "\u1112\u1161\u11ab \uac00\u11a8 \ufb01 \u2460 \uff21\uff22",
  "\ud83d\ude00\ud83d\udc68\u200d\ud83d\udc69\u200d\ud83d\udc67 \ud83c\uddea\ud83c\uddfa \u0000\u0007\ufffd\ufeff", "\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22 \u0939\u093f\u0928\u094d\u0926\u0940 \u0627\u0644\u0639\u0631\u0628\u064a\u0629",
  "a\u00a0b\u3000c\u2028d\u180ee\u200bf\u0085g\u1680h", "\u2581under\u2581score \u2581", "for (int i = 0; i < n; ++i) { sum += x[i] * 0xFF; }  // done",
  "snake_case camelCase kebab-case http://example.org/?q=1&r=2", "<s>bold</s> <pad><mask>  <mask> word<mask>word <unk>x",
  "<extra> extra <EXTRA>", "x\n\nY\nz \nA\n1", "unaffable unaffablest !!!??? ...", "mesh rows:2,cols:2 layout batch:rows",
  "The quick brown fox jumps over the lazy dog. ".repeat(3), "\u0915\u094d\u0937 \u00b2\u00b3\u00b9 \u24b6 _ab_ a\u0300b",
];

function cases(tokenizer) {
  return Promise.all(texts.map(async (text) => {
    const ids = (await tokenizer.encode(text, null, { addSpecialTokens: true })).getIds();
    const decoded = [await tokenizer.decode(ids, false), await tokenizer.decode(ids, true)];
    return [ids, ...decoded.map((other) => (other === text ? null : other))];
  }));
}

async function write(name, tokenizers) {
  const list = [];
  for (const [title, json] of Object.entries(tokenizers)) {
    const text = JSON.stringify(file(json));
    list.push(JSON.stringify({ name: title, tokenizer: text, cases: await cases(library.Tokenizer.fromString(text)) }));
  }
  writeFileSync(join(here, `${name}.json`), `{"texts": ${JSON.stringify(texts)},\n"tokenizers": [\n${list.join(",\n")}\n]}\n`);
}

const llamaPattern = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

function byteLevelTokenizers() {
  const model = cutBpe(trained("BPE", library.byteLevelPreTokenizer(false)), bytes, 350);
  const next = Object.keys(model.vocab).length;
  const template = { type: "TemplateProcessing", single: [{ SpecialToken: { id: "<s>", type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }],
    pair: [{ Sequence: { id: "A", type_id: 0 } }, { Sequence: { id: "B", type_id: 1 } }],
    special_tokens: { "<s>": { id: "<s>", ids: [next + 1], tokens: ["<s>"] } } };
  return {
    "pattern of Llama 3": { model: { ...model, ignore_merges: true, vocab: { ...model.vocab, "Ġquick": next, "<s>": next + 1, "</s>": next + 2 } },
      added_tokens: [special(next + 1, "<s>"), special(next + 2, "</s>")], decoder: byteLevel(),
      pre_tokenizer: sequence("pretokenizers", split(llamaPattern), byteLevel({ use_regex: false })),
      post_processor: sequence("processors", byteLevel(), template) },
    "GPT-2, with a blank in front": { model: { ...model, merges: model.merges.map((pair) => pair.join(" ")) },
      added_tokens: [special(next, "<s>"), special(next + 1, "<mask>", { lstrip: true })], decoder: byteLevel(),
      pre_tokenizer: byteLevel({ add_prefix_space: true }),
      post_processor: { type: "RobertaProcessing", sep: ["</s>", 7], cls: ["<s>", next], trim_offsets: true, add_prefix_space: true } },
    "NFC, and words that are removed": { model, normalizer: { type: "NFC" }, decoder: byteLevel(),
      pre_tokenizer: sequence("pretokenizers", split("\\p{L}+|\\p{N}", "Removed", true), byteLevel({ use_regex: false })) },
    "bytes in the normalizer": { model, normalizer: sequence("normalizers", { type: "NFKC" }, { type: "ByteLevel" }), decoder: byteLevel() },
  };
}

function metaspaceTokenizers() {
  const learned = trained("BPE", library.metaspacePreTokenizer());
  const fallback = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
  const letters = [..."\u2581abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:;'-\u00e9\u4f60"];
  learned.merges = learned.merges.filter(([left, right]) => [...left + right].every((c) => letters.includes(c)));
  const model = cutBpe(learned, ["<unk>", "<s>", "</s>", ...fallback, ...letters], 250);
  const next = Object.keys(model.vocab).length;
  const settings = { unk_token: "<unk>", fuse_unk: true, byte_fallback: true };
  const decoder = sequence("decoders", { type: "Replace", pattern: { String: "\u2581" }, content: " " }, { type: "ByteFallback" },
    { type: "Fuse" }, { type: "Strip", content: " ", start: 1, stop: 0 });
  const normalizer = sequence("normalizers", { type: "Prepend", prepend: "\u2581" }, { type: "Replace", pattern: { String: " " }, content: "\u2581" });
  const added = [special(0, "<unk>"), special(1, "<s>"), special(2, "</s>"),
    special(next, "<mask>", { lstrip: true, rstrip: true }), special(next + 1, "extra", { single_word: true, special: false, normalized: true }),
    special(next + 2, "<EXTRA>", { special: false, normalized: true })];
  const metaspace = (prepend_scheme, splits = true) => ({ type: "Metaspace", replacement: "\u2581", prepend_scheme, split: splits });
  const bert = { type: "BertProcessing", sep: ["</s>", 2], cls: ["<s>", 1] };
  const slim = { ...model, ...settings, byte_fallback: false };
  return {
    "Llama 2": { model: { ...model, ...settings }, normalizer, decoder, added_tokens: added, post_processor: bert },
    "unknown characters apart": { model: { ...slim, fuse_unk: false }, normalizer, decoder, added_tokens: added },
    "Metaspace, first": { model: slim, pre_tokenizer: metaspace("first"), decoder: metaspace("first"), added_tokens: added,
      normalizer: { type: "Strip", strip_left: true, strip_right: false } },
    "Metaspace, always": { model: slim, pre_tokenizer: metaspace("always", false), decoder: metaspace("always"), added_tokens: added,
      normalizer: { type: "Lowercase" } },
    "Metaspace, never": { model: slim, pre_tokenizer: metaspace("never"), decoder: metaspace("never") },
  };
}

function wordTokenizers() {
  const learned = trained("WordPiece", library.whitespacePreTokenizer());
  const marks = [..."abcdefghijklmnopqrstuvwxyz0123456789.,!?'-\u4f60\u597d\u03c3"];
  const tokens = ["[UNK]", "[CLS]", "[SEP]", ...marks, ...marks.map((mark) => `##${mark}`),
    ...Object.keys(learned.vocab).filter((token) => /^(##)?[a-z]{2,}$/.test(token)).slice(0, 300)];
  const vocab = Object.fromEntries([...new Set(tokens)].map((token, id) => [token, id]));
  const model = { type: "WordPiece", unk_token: "[UNK]", continuing_subword_prefix: "##", max_input_chars_per_word: 20, vocab };
  const bert = (settings = {}) =>
    ({ type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true, ...settings });
  const decoder = { type: "WordPiece", prefix: "##", cleanup: true };
  const words = Object.fromEntries(["<unk>", "the", "world", "Hello", ",", "!", "model", "layout", "of"].map((word, id) => [word, id]));
  return {
    "BERT": { model, normalizer: bert(), pre_tokenizer: { type: "BertPreTokenizer" }, decoder,
      post_processor: { type: "BertProcessing", sep: ["[SEP]", 2], cls: ["[CLS]", 1] }, added_tokens: [special(1, "[CLS]"), special(2, "[SEP]")] },
    "BERT, cased": { model, normalizer: bert({ lowercase: false, clean_text: false }), pre_tokenizer: { type: "BertPreTokenizer" },
      decoder: { ...decoder, cleanup: false } },
    "word level": { model: { type: "WordLevel", vocab: words, unk_token: "<unk>" }, pre_tokenizer: { type: "Whitespace" } },
  };
}

// A table of characters of SentencePiece: the double-array trie of these keys, and their replacements.
function charsmap(replacements) {
  const root = new Map();
  let texts = Buffer.alloc(0);
  for (const [key, text] of Object.entries(replacements)) {
    let node = root;
    for (const byte of Buffer.from(key)) {
      if (!node.has(byte)) node.set(byte, new Map());
      node = node.get(byte);
    }
    node.set("value", texts.length);
    texts = Buffer.concat([texts, Buffer.from(text), Buffer.from([0])]);
  }
  const units = new Map([[0, 0]]);
  const place = (node, at) => {
    const labels = [...node.keys()].map((key) => (key === "value" ? 0 : key));
    let begin = 1;
    while ((at ^ begin) < 0 || labels.some((label) => units.has(at ^ begin ^ label))) ++begin;
    units.set(at, (units.get(at) | (begin << 10) | (node.has("value") ? 1 << 8 : 0)) >>> 0);
    for (const label of labels) units.set(at ^ begin ^ label, label);
    if (node.has("value")) units.set(at ^ begin, (node.get("value") | 0x80000000) >>> 0);
    for (const [label, child] of node) if (label !== "value") place(child, at ^ begin ^ label);
  };
  place(root, 0);
  const size = (Math.max(...units.keys()) | 255) + 1, array = Buffer.alloc(4 + 4 * size);
  array.writeUInt32LE(4 * size);
  for (const [at, unit] of units) array.writeUInt32LE(unit, 4 + 4 * at);
  return Buffer.concat([array, texts]).toString("base64");
}

function unigramTokenizers() {
  const learned = trained("Unigram", library.metaspacePreTokenizer());
  const vocab = [["<unk>", 0], ["<s>", 0], ...learned.vocab.filter(([token]) => !token.startsWith("<")).slice(0, 500)];
  const fallback = Array.from({ length: 256 }, (_, byte) => [`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`, 0]);
  const model = { type: "Unigram", unk_id: 0, vocab, byte_fallback: false };
  const metaspace = { type: "Metaspace", replacement: "\u2581", prepend_scheme: "always", split: true };
  const map = charsmap({ "\u00e9": "e", "e\u0301": "e", "\uff21": "A", "\ufb01": "fi", "\u3000": " ", "\r": " ", "\t": " ", "\u00df": "ss", "\u200b": "" });
  return {
    "T5": { model, normalizer: sequence("normalizers", { type: "Precompiled", precompiled_charsmap: map },
      { type: "Replace", pattern: { Regex: " {2,}" }, content: " " }), pre_tokenizer: sequence("pretokenizers", { type: "WhitespaceSplit" }, metaspace),
      decoder: metaspace, added_tokens: [special(0, "<unk>"), special(1, "<s>")] },
    "Nmt, with bytes": { model: { ...model, vocab: [...vocab, ...fallback], byte_fallback: true },
      normalizer: sequence("normalizers", { type: "Nmt" }, { type: "NFKC" }), pre_tokenizer: metaspace,
      decoder: sequence("decoders", { type: "ByteFallback" }, metaspace) },
  };
}

// The ends of words can be seen in their last tokens.
function componentTokenizers() {
  const characters = [...new Set("abcdefghijklmnopqrstuvwxyzHIDETSKNOW0123456789 .,-_'/\n\u00e9\u2581")];
  const tokens = ["<unk>", ...characters, ...characters.map((c) => `${c}|`), "|", "<unk>|"];
  const vocab = Object.fromEntries(tokens.map((token, id) => [token, id]));
  const model = { type: "BPE", dropout: null, unk_token: "<unk>", continuing_subword_prefix: null, end_of_word_suffix: "|", fuse_unk: true,
    byte_fallback: false, ignore_merges: false, vocab, merges: [] };
  const found = {};
  const add = (name, settings) => (found[name] = { model, decoder: { type: "BPEDecoder", suffix: "|" }, ...settings });
  for (const behavior of ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"])
    for (const invert of [false, true]) add(`Split ${behavior} ${invert}`, { pre_tokenizer: split("\\s|[.,]", behavior, invert) });
  add("Split of a text", { pre_tokenizer: { type: "Split", pattern: { String: "l" }, behavior: "MergedWithPrevious", invert: false } });
  add("empty matches", { pre_tokenizer: split("l*", "Contiguous") });
  for (const [name, pattern] of Object.entries({
    "words": "\\w+|\\W", "words in brackets": "[\\w-]+", "digits and hexadecimal digits": "\\h+|\\d", "boundaries": "\\b", "intersection": "[a-z&&[^aeiou]]+",
    "names of properties": "\\p{Alpha}+|\\p{^L}|\\p{Han}+", "lines": "^.*$", "POSIX": "[[:alpha:]_]+|[[:punct:]]", "code points": "[\\u0041-\\u005A\\x{e9}]",
    "union": "[a-c[x-z]]+|[^[:space:]]", "not blank": "[^\\s,.]+", "look behind": "(?<=l)o|(?<!e)l" }))
    add(`pattern: ${name}`, { pre_tokenizer: split(pattern) });
  add("Digits", { pre_tokenizer: { type: "Digits", individual_digits: false } });
  add("Digits apart", { pre_tokenizer: { type: "Digits", individual_digits: true } });
  add("Punctuation", { pre_tokenizer: { type: "Punctuation", behavior: "MergedWithNext" } });
  add("CharDelimiterSplit", { pre_tokenizer: { type: "CharDelimiterSplit", delimiter: "-" } });
  add("WhitespaceSplit", { pre_tokenizer: { type: "WhitespaceSplit" } });
  add("Whitespace", { pre_tokenizer: { type: "Whitespace" } });
  add("BertPreTokenizer", { pre_tokenizer: { type: "BertPreTokenizer" } });
  for (const type of ["NFC", "NFD", "NFKC", "NFKD", "StripAccents", "Lowercase", "Nmt"]) add(type, { normalizer: { type } });
  add("NFD and StripAccents", { normalizer: sequence("normalizers", { type: "NFD" }, { type: "StripAccents" }, { type: "Strip", strip_left: true, strip_right: true }) });
  add("Replace", { normalizer: { type: "Replace", pattern: { Regex: "[aeiou]\\s*" }, content: "o" } });
  return found;
}

await write("byte_level", byteLevelTokenizers());
await write("metaspace", metaspaceTokenizers());
await write("words", wordTokenizers());
await write("unigram", unigramTokenizers());
await write("components", componentTokenizers());
