// Texts that are packed into rows train a model exactly as they do in rows of their own, and only answers count.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "cmd/testing/shell.h"
#include "core/testing/scratch_folder.h"
#include "formats/data/npy.h"

namespace mtfc::packed_rows_command_test {
namespace {

constexpr const char* kSizes =
    "--set packed=1 --set vocab=256 --set layers=2 --set d_model=12 --set d_ff=16 --set heads=2 --set d_kv=6 "
    "--set length=32 --dtype f64 -q --input targets=of:tokens,shift=1";

std::vector<double> values_of(const std::string& path) {
  const StoredArray array = read_npy(path);
  REQUIRE(array.type == StoredType::kF64);
  int64_t count = 1;
  for (const int64_t size : array.shape) count *= size;
  std::vector<double> values(static_cast<size_t>(count));
  std::memcpy(values.data(), array.data, 8 * values.size());
  return values;
}

// Twelve texts of 20, 12, 16 .. bytes, with prompts of a quarter of them, that fill five rows of 32 but for one byte.
std::string texts() {
  std::string lines;
  int letter = 0;
  for (const int size : {20, 12, 16, 16, 10, 10, 12, 30, 2, 8, 8, 15}) {
    std::string text;
    for (int i = 0; i < size; ++i) text += static_cast<char>('a' + (letter += 7) % 26);
    const auto prompt = static_cast<size_t>(size / 4);
    lines += fmt::format("{{\"q\": \"{}\", \"a\": \"{}\"}}\n", text.substr(0, prompt), text.substr(prompt));
  }
  return lines;
}

struct Trained {
  std::map<std::string, std::vector<double>> tensors;
};

struct TrainedModel {
  std::string file;
  std::vector<std::string> outputs;
};

const TrainedModel kOwn = {
    "transformer_lm.json",
    {"loss", "embedding/table/grad", "output/table/grad", "layer_0/self/attention/wk/grad"}};

// The loss and gradients of the first step.
Trained trained(const TrainedModel& model, const ScratchFolder& folder, const std::string& options) {
  std::string outputs;
  const std::vector<std::string>& names = model.outputs;
  for (size_t i = 0; i < names.size(); ++i)
    outputs += fmt::format(" --output '{}={}/{}.npy'", names[i], folder.path.string(), i);
  const std::string told =
      outcome_in_models(fmt::format("$MTFC run {} {} --steps 1 {}{}", model.file, kSizes, options, outputs));
  CAPTURE(told);
  REQUIRE(told.starts_with("exit 0"));
  Trained found;
  for (size_t i = 0; i < names.size(); ++i)
    found.tensors[names[i]] = values_of(fmt::format("{}/{}.npy", folder.path.string(), i));
  return found;
}

void check_near(const Trained& found, const Trained& expected) {
  for (const auto& tensor : expected.tensors) {
    CAPTURE(tensor.first);
    const std::vector<double>& values = found.tensors.at(tensor.first);
    REQUIRE(values.size() == tensor.second.size());
    double largest = 0, difference = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      largest = std::max(largest, std::abs(tensor.second[i]));
      difference = std::max(difference, std::abs(values[i] - tensor.second[i]));
    }
    CHECK(largest > 1e-6);
    CHECK(difference < 1e-12 * std::max(1.0, largest));
  }
}

}  // namespace

TEST_CASE("packed texts have the loss and the gradients of texts in rows of their own") {
  const ScratchFolder folder;
  const std::string jsonl = folder.write("texts.jsonl", texts());
  const std::string source = fmt::format("tokens=jsonl:{},text=q,answer=a", jsonl);
  for (const std::string kind : {"", "--set rotary=10000", "--set alibi=1"}) {
    CAPTURE(kind);
    const Trained padded = trained(kOwn, folder, fmt::format("{} --set batch=12 --input '{}'", kind, source));
    const std::string packed = fmt::format("{} --set batch=5 --input '{},pack=yes'", kind, source);
    check_near(trained(kOwn, folder, packed), padded);
    for (const char* layout : {"--mesh a:2 --layout batch:a", "--mesh a:2 --layout length:a",
                               "--mesh a:2,b:2 --simulate --layout heads:a,memory_length:b,vocab:b",
                               "--mesh a:3 --simulate --layout batch:a,zero:3"})
      check_near(trained(kOwn, folder, packed + " " + layout), padded);
  }
}

TEST_CASE("families of published models take packed texts as well") {
  const ScratchFolder folder;
  const std::string source =
      fmt::format("--input 'tokens=jsonl:{},text=q,answer=a", folder.write("texts.jsonl", texts()));
  for (const std::string family : {"llama", "mistral --set window=5", "qwen2", "qwen3"}) {
    CAPTURE(family);
    const TrainedModel model = {
        "families/" + family.substr(0, family.find(' ')) + ".json",
        {"loss", "model/embedding/table/grad", "model/layer_0/attention/k/weight/grad",
         "model/layer_1/mlp/up/weight/grad"}};
    const std::string options = family.substr(std::min(family.find(' '), family.size())) +
                                " --set attention_heads=4 --set deviation=0.5 ";
    const Trained padded = trained(model, folder, options + "--set batch=12 " + source + "'");
    const std::string packed = options + "--set batch=5 " + source + ",pack=yes'";
    check_near(trained(model, folder, packed), padded);
    check_near(trained(model, folder, packed + " --mesh a:2 --layout length:a"), padded);
  }
}

TEST_CASE("a run says how full its rows are") {
  const ScratchFolder folder;
  const std::string jsonl = folder.write("texts.jsonl", texts());
  const auto told = [&](const std::string& options) {
    return outcome_in_models(fmt::format("$MTFC run transformer_lm.json {} --steps 1 {}",
                                         std::string(kSizes).replace(std::string(kSizes).find(" -q"), 3, ""),
                                         options));
  };
  // 159 tokens in 5 rows of 32 places, and in 12.
  CHECK(told(fmt::format("--set batch=5 --input tokens=jsonl:{},text=q,answer=a,pack=yes", jsonl))
            .find("of:tokens,part=mask,shift=1 (the model's own); rows are 99 % full\n") !=
        std::string::npos);
  CHECK(told(fmt::format("--set batch=12 --input tokens=jsonl:{},text=q,answer=a", jsonl))
            .find("; rows are 41 % full\n") != std::string::npos);
  CHECK(told("--set batch=2 --input tokens=random:int,hi=9").find("% full") == std::string::npos);
}

TEST_CASE("the loss is the mean over the tokens of answers") {
  const ScratchFolder folder;
  const std::string jsonl =
      folder.write("a.jsonl", "{\"q\": \"abc\", \"a\": \"de\"}\n{\"q\": \"f\", \"a\": \"ghi\"}\n");
  const std::string told = outcome_in_models(
      fmt::format("$MTFC run transformer_lm.json {} --set batch=1 --set length=12 --evaluate --input "
                  "'tokens=jsonl:{},text=q,answer=a,"
                  "pack=yes,end=10' --output loss={}/loss.npy --output token_losses={}/each.npy",
                  kSizes, jsonl, folder.path.string(), folder.path.string()));
  CAPTURE(told);
  REQUIRE(told.starts_with("exit 0"));
  const std::vector<double> each = values_of((folder.path / "each.npy").string());
  // abcde\nfghi\n: the answers are de\n and ghi\n, each token of which is predicted by the one before.
  double sum = 0;
  for (const size_t i : {2, 3, 4, 6, 7, 8, 9}) sum += each.at(i);
  CHECK(values_of((folder.path / "loss.npy").string()).at(0) == doctest::Approx(sum / 7).epsilon(1e-12));
}

TEST_CASE("rows of random tokens have parts as well") {
  const std::string told = outcome_in_models(
      "$MTFC run transformer_lm.json -q --set packed=1 --set layers=1 --set vocab=40 --steps 1 --mesh a:2 "
      "--layout "
      "batch:a");
  CHECK(told == "exit 0: ");
}

TEST_CASE("runs read texts by their tokenizer, from the same windows in every layout and when they go on") {
  const ScratchFolder folder;
  folder.write(
      "tokenizer.json",
      R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "c": 3, "\n": 40}, "merges": [["a", "b"]]}})");
  std::string text;
  for (uint32_t i = 0, x = 1; i < 400; ++i, x = x * 1664525 + 1013904223) text += "abc\n"[x >> 30];
  folder.write("text", text);
  outcome_in_models(fmt::format("cp char_lm.json '{}/model.json'", folder.path.string()));
  const auto said = [&](const std::string& model, const std::string& options) {
    return outcome_in_models(fmt::format(
        "models=$PWD; cd '{}' && ($MTFC run {} --set layers=1 --set d_model=8 --set d_ff=8 --set heads=2 "
        "--set length=8 --set batch=4 --input targets=of:tokens,shift=1 {})",
        folder.path.string(), model, options));
  };
  const std::string elsewhere = "$models/char_lm.json";
  // The losses, to as many digits as rounding leaves alone.
  const auto losses = [&](const std::string& model, const std::string& options) {
    const std::string printed = said(model, "--set vocab=41 --steps 4 " + options + " 2>/dev/null");
    const size_t valid = printed.find("valid/loss");
    CAPTURE(printed);
    REQUIRE(printed.starts_with("exit 0: step 4  loss "));
    REQUIRE(valid != std::string::npos);
    return printed.substr(0, 25) + printed.substr(valid, 15);
  };
  const std::string data = "--input tokens=text:text,split=train --valid tokens=text:text,split=valid ";
  const std::string alone = losses(elsewhere, data + "--tokenizer .");
  CHECK(losses(elsewhere, data + "--tokenizer . --mesh a:2 --layout batch:a") == alone);
  CHECK(
      said(elsewhere, data + "--tokenizer . --set vocab=41 --steps 2 --checkpoint ck").starts_with("exit 0"));
  CHECK(losses(elsewhere, data + "--tokenizer . --checkpoint ck --resume") == alone);
  CHECK(losses(elsewhere,
               "--input tokens=text:text,split=train,tokenizer=. --valid "
               "tokens=text:text,tokenizer=tokenizer.json,split=valid") == alone);
  // The folder of a model has the tokenizer of its texts; without one, the tokens are bytes.
  CHECK(losses("model.json", data) == alone);
  CHECK(said(elsewhere, data + "--set vocab=41").find("is out of range: 'vocab' has 41") !=
        std::string::npos);

  CHECK(said(elsewhere, "--set vocab=40 --tokenizer . --input tokens=text:text") ==
        "exit 2: mtfc: error: 'tokens' has the token 40 of 'text', but they choose from the 40 of 'vocab' "
        "(the tokenizer is that of another model, or --set vocab=N gives this one so many)\n");
  CHECK(said(elsewhere, "--set vocab=41 --input tokens=of:targets") ==
        "exit 2: --input: error: targets=of:tokens,shift=1: 'tokens' is itself a part of the data of "
        "'targets' (give of:targets)\n");
}

}  // namespace mtfc::packed_rows_command_test
