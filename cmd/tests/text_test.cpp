// models/byte_mlp.json learns text, from the same windows under every layout.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cmd/testing/shell.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"

namespace mtfc::text_test {
namespace {

using Json = nlohmann::json;

const std::string kModel = std::string(kSourceFolder) + "/models/byte_mlp.json";

// `option bytes=... option labels=...`; the labels are the bytes after the window.
std::string over(const std::string& option, const std::string& source) {
  return fmt::format(" {0} 'bytes={1}' {0} 'labels={1},shift=length'", option, source);
}

std::vector<Json> metrics_of(const ScratchFolder& folder, const std::string& arguments) {
  REQUIRE(std::system(fmt::format("'{}' run '{}' -q --metrics '{}' {}", kTestedProgram, kModel,
                                  folder / "log", arguments)
                          .c_str()) == 0);
  std::ifstream log(folder / "log");
  std::vector<Json> lines;
  for (std::string line; std::getline(log, line);) lines.push_back(Json::parse(line));
  return lines;
}

// Returns the exit code and everything printed.
std::pair<int, std::string> outcome(const std::string& arguments) {
  const Outcome found = outcome_of(fmt::format("'{}' run '{}' {} 2>&1", kTestedProgram, kModel, arguments));
  return {found.code, found.text};
}

// Pangrams in an order that never repeats, so that the held-out tenth is similar but not the same.
std::string sentences() {
  const std::vector<std::string> parts = {"the quick brown fox ", "jumps over ", "the lazy dog. ",
                                          "pack my box with ",    "five dozen ", "liquor jugs. "};
  std::string text;
  for (uint32_t i = 0, x = 1; i < 1500; ++i, x = x * 1664525 + 1013904223)
    text += parts[(x >> 16) % parts.size()];
  return text;
}

// Nats per byte if each byte is guessed by its frequency alone.
double unigram_entropy(const std::string& text) {
  std::array<double, 256> counts{};
  for (const char c : text) ++counts[static_cast<unsigned char>(c)];
  double sum = 0;
  for (const double count : counts)
    if (count > 0) sum -= count * std::log(count / static_cast<double>(text.size()));
  return sum / static_cast<double>(text.size());
}

TEST_CASE("byte_mlp learns text far below its unigram entropy, to the same losses under every layout") {
  const ScratchFolder folder;
  const std::string text = sentences();
  const std::string path = folder.write("text", text);
  const std::string data = " --set d_model=8 --set d_ff=64" +
                           over("--input", "text:" + path + ",split=train") +
                           over("--valid", "text:" + path + ",split=valid");
  const std::vector<Json> alone = metrics_of(folder, "--steps 200" + data);
  REQUIRE(alone.size() == 200);
  CHECK(alone[0]["loss"].get<double>() > 5);
  CHECK(alone[199]["valid/loss"].get<double>() < unigram_entropy(text) / 2);
  CHECK(alone[199]["valid/accuracy"].get<double>() > 0.7);
  for (const std::string layout :
       {"--mesh a:2 --layout batch:a", "--mesh a:2 --layout d_ff:a",
        "--mesh a:3,b:2 --layout batch:a,length:b --simulate", "--mesh a:3 --layout vocab:a --simulate"}) {
    INFO(layout);
    const std::vector<Json> split = metrics_of(folder, layout + " --steps 20" + data);
    REQUIRE(split.size() == 20);
    for (size_t i = 0; i < split.size(); ++i)
      CHECK(split[i]["loss"].get<double>() == doctest::Approx(alone[i]["loss"].get<double>()).epsilon(1e-4));
  }
}

TEST_CASE("--evaluate goes over the whole text, in order") {
  const ScratchFolder folder;
  const std::string path = folder.write("text", sentences().substr(0, 16 + 3 * 64 + 5));
  const std::string data = over("--input", "text:" + path) + " --evaluate";
  const std::vector<Json> means = metrics_of(folder, data);
  REQUIRE(means.size() == 1);
  // The mean of the parts is the mean of the whole: rows 0 to 63, 64 to 127 and 128 to 191 have one batch
  // each.
  double sum = 0;
  for (const int first : {0, 64, 128})
    sum += metrics_of(folder, over("--input", fmt::format("text:{},rows={}:{}", path, first, first + 80)) +
                                  " --evaluate")[0]["loss"]
               .get<double>();
  CHECK(means[0]["loss"].get<double>() == doctest::Approx(sum / 3).epsilon(1e-5));
  const auto [code, told] = outcome(data);
  CHECK(code == 0);
  CHECK(told.find("\nevaluation takes whole batches of 64: 5 rows are left out\n") != std::string::npos);
  const std::string part =
      over("--input", fmt::format("text:{},rows=0:{}", path, 16 + 64 + 1)) + " --evaluate";
  CHECK(outcome(part).second.find("\nevaluation takes whole batches of 64: 1 row is left out\n") !=
        std::string::npos);
}

TEST_CASE("integers of two and four bytes are the same tokens as bytes") {
  const ScratchFolder folder;
  const std::string text = sentences().substr(0, 500);
  std::string two, four;
  for (const char c : text) {
    two += {c, '\0'};
    four += {c, '\0', '\0', '\0'};
  }
  const auto losses = [&](const std::string& source) {
    std::vector<double> found;
    for (const Json& line : metrics_of(folder, "--steps 3" + over("--input", source)))
      found.push_back(line["loss"]);
    return found;
  };
  const std::vector<double> expected = losses("text:" + folder.write("text", text));
  CHECK(losses("tokens:" + folder.write("two", two)) == expected);
  CHECK(losses("tokens:" + folder.write("four", four) + ",width=4") == expected);
}

TEST_CASE("a run warns of bytes that choose from a larger vocabulary, and of targets that are not shifted") {
  const ScratchFolder folder;
  const std::string text = folder.write("text", sentences().substr(0, 500)),
                    options = "--steps 1 --set batch=4 --set length=6 ";
  const std::string bytes =
      "mtfc: warning: 'bytes' has the bytes of a text, 0 to 255, which choose from the 1000 of 'vocab': is "
      "this text to be cut into tokens first? (give its --tokenizer, or a model of bytes --set vocab=256)\n";
  const std::string same =
      "mtfc: warning: 'labels' has tokens of the windows of 6 in 'bytes': a model that is to predict the "
      "next "
      "one would learn to repeat what it reads (give the source of 'labels' ,shift=6)\n";
  const std::string shifted = over("--input", "text:" + text),
                    unshifted = fmt::format(" --input 'bytes=text:{0}' --input 'labels=text:{0}'", text);
  const auto said = [&](const std::string& arguments) {
    const auto [code, told] = outcome(options + arguments);
    CHECK(code == 0);
    return told;
  };
  for (const char* mesh :
       {"", " --mesh a:2 --layout batch:a --simulate", " --mesh a:4 --layout vocab:a --simulate",
        " --mesh a:2 --layout length:a --propagate --simulate"}) {
    CAPTURE(mesh);
    CHECK(said("--set vocab=1000" + shifted + mesh).find(bytes) != std::string::npos);
    const std::string good = said(shifted + mesh), repeats = said(unshifted + mesh);
    CHECK(good.find(bytes) == std::string::npos);
    CHECK(good.find(same) == std::string::npos);
    CHECK(repeats.find(same) != std::string::npos);
    CHECK(repeats.find(bytes) == std::string::npos);
  }
  const auto warns = [&](const std::string& of_bytes, const std::string& of_labels) {
    return said(fmt::format(" --input 'bytes=text:{0}{1}' --input 'labels=text:{0}{2}'", text, of_bytes,
                            of_labels))
        .find("'labels' has tokens of the windows of 6 in 'bytes'");
  };
  for (const char* inside : {",shift=1", ",shift=5", ",shift=length-1"})
    CHECK(warns("", inside) != std::string::npos);
  CHECK(warns(",shift=2", ",shift=7") != std::string::npos);
  for (const char* after : {",shift=6", ",shift=7"}) CHECK(warns("", after) == std::string::npos);
  CHECK(warns(",shift=2", ",shift=1") == std::string::npos);
}

TEST_CASE("targets of every token are to be shifted by one") {
  const ScratchFolder folder;
  const std::string text = folder.write("text", sentences().substr(0, 500));
  const auto said = [&](const std::string& shift) {
    const Outcome found = outcome_of(
        fmt::format("'{}' run '{}/models/char_lm.json' --steps 1 --set batch=4 --set length=6 --set "
                    "layers=1 --input 'tokens=text:{}' --input 'targets=text:{}{}' 2>&1",
                    kTestedProgram, kSourceFolder, text, text, shift));
    CHECK(found.code == 0);
    return found.text;
  };
  const std::string same =
      "mtfc: warning: 'tokens' and 'targets' have the same tokens: a model that is to predict the next one "
      "would learn to repeat what it reads (add ,shift=1 to the source of the targets)\n";
  CHECK(said("").find(same) != std::string::npos);
  for (const char* shift : {",shift=1", ",shift=5"})
    CHECK(said(shift).find("warning: 'targets'") == std::string::npos);
  CHECK(said(",shift=1").find(same) == std::string::npos);
}

TEST_CASE("text that can't be fed is refused with a reason") {
  const ScratchFolder folder;
  const std::string shorter = folder.write("short", "sixteen and a bi");
  const std::string longer = folder.write("long", sentences().substr(0, 100));
  CHECK(outcome(over("--input", "text:" + shorter)) ==
        std::pair(
            1, fmt::format("mtfc: error: text:{},shift=length: 16 tokens are too few for the input 'labels', "
                           "whose windows span 17\n",
                           shorter)));
  CHECK(outcome(
            fmt::format("--input 'bytes=text:{0},split=train' --input 'labels=text:{0},shift=16'", longer)) ==
        std::pair(
            2, fmt::format(
                   "mtfc: error: the inputs 'bytes' and 'labels' read different parts of {} (give both the "
                   "same rows, split and width: their windows start at the same tokens)\n",
                   longer)));
  CHECK(outcome(over("--input", "text:" + longer) + over("--valid", "text:" + longer + ",rows=0:50")) ==
        std::pair(
            1, fmt::format(
                   "mtfc: error: --valid: text:{},rows=0:50: 34 rows to evaluate are too few for the input "
                   "'bytes', which takes 64 at a time (--set batch=34 fits the model to it)\n",
                   longer)));
  // 't' is byte 116.
  const std::string two = folder.write("t", "tt");
  CHECK(outcome("--set vocab=100 -q --set batch=1 --set length=1" + over("--input", "text:" + two)) ==
        std::pair(1, fmt::format(
                         "mtfc: error: train, step 1: /ops/0 (gather 'x'): index 116 at [batch=0, length=0] "
                         "is out of range: 'vocab' has 100 (in the row from token 0 of {} on)\n",
                         two)));
  // The rows of the held-out tenth begin at tokens 450, 452 and so on; 'A' is byte 65, and '~' 126.
  const std::string bad = folder.write("bad", std::string(453, 'A') + '~' + std::string(46, 'A'));
  CHECK(outcome(
            fmt::format("--set vocab=100 -q --evaluate --set batch=1 --set length=2 "
                        "--input 'bytes=text:{0},split=valid' --input 'labels=text:{0},split=valid,shift=0'",
                        bad))
            .second.ends_with(fmt::format(" (in the row from token 452 of {} on)\n", bad)));
}

}  // namespace
}  // namespace mtfc::text_test
