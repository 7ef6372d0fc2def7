// mtfc tokenize: ids of texts on the screen and in files, on one thread and on several, and what is refused.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "cmd/testing/shell.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "formats/json/json_value.h"
#include "formats/tokenizer/parallel_tokens.h"

namespace mtfc::tokenize_test {
namespace {

// A tokenizer of testdata/tokenizers/.
std::string tokenizer_json(const std::string& file, size_t index) {
  const std::string text = contents(fmt::format("{}/testdata/tokenizers/{}.json", kSourceFolder, file));
  return parse_json(text, file).find("tokenizers")->items.at(index).find("tokenizer")->text;
}

constexpr const char* kLetters =
    R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 258, "\n": 3}, "merges": [["a", "b"]]},
  "post_processor": {"type": "BertProcessing", "cls": ["a", 0], "sep": ["b", 1]}})";

std::string outcome(const ScratchFolder& folder, const std::string& arguments) {
  return outcome_in_models(fmt::format("cd '{}' && $MTFC tokenize {}", folder.path.string(), arguments));
}

}  // namespace

TEST_CASE("ids of texts") {
  const ScratchFolder folder;
  folder.write("tokenizer.json", kLetters);
  folder.write("x.txt", "abba\n");
  folder.write("empty.txt", "");
  CHECK(outcome(folder, "--tokenizer . --text abba") == "exit 0: 258,1,0\n");
  CHECK(outcome(folder, "--tokenizer tokenizer.json --text abba --special") == "exit 0: 0,258,1,0,1\n");
  CHECK(outcome(folder, "--tokenizer . empty.txt") == "exit 0: \n");
  CHECK(outcome(folder, "--tokenizer . x.txt empty.txt x.txt --end ab") ==
        "exit 0: 258,1,0,3,258\n258\n258,1,0,3,258\n");
  // The shell closes standard input behind the last command.
  CHECK(outcome(folder, "--tokenizer . <x.txt; true") == "exit 0: 258,1,0,3\n");
  CHECK(outcome(folder, "--tokenizer . --decode 258,1,0") == "exit 0: ab b a\n");
  CHECK(outcome(folder, "--tokenizer . x.txt -q -o ids.u16") == "exit 0: ");
  CHECK(folder.read("ids.u16") == std::string("\x02\x01\x01\0\0\0\x03\0", 8));
  CHECK(outcome(folder, "--tokenizer . x.txt -q -o ids.u32") == "exit 0: ");
  CHECK(folder.read("ids.u32") == std::string("\x02\x01\0\0\x01\0\0\0\0\0\0\0\x03\0\0\0", 16));
  CHECK(outcome(folder, "--tokenizer . x.txt x.txt -o ids.txt")
            .starts_with("exit 0: 8 tokens of 10 bytes, 1.25 bytes per token, in "));
  CHECK(folder.read("ids.txt") == "258,1,0,3\n258,1,0,3\n");
}

TEST_CASE("ids by a model of sentencepiece") {
  const ScratchFolder folder;
  const std::string model = fmt::format("{}/testdata/tokenizers/llama.model", kSourceFolder);
  folder.write("tokenizer.model", contents(model));
  folder.write("x.txt", "layout zebra");
  const std::string ids = outcome(folder, "--tokenizer . x.txt").substr(8);
  CHECK(ids.find(',') != std::string::npos);
  CHECK(outcome(folder, "--tokenizer tokenizer.model --text 'layout zebra' --special --end '</s>'") ==
        "exit 0: 1," + ids.substr(0, ids.size() - 1) + ",2\n");
  CHECK(outcome(folder, "--tokenizer - --text 'layout zebra' <tokenizer.model; true") == "exit 0: " + ids);
  CHECK(outcome(folder, "--tokenizer . --decode " + ids.substr(0, ids.size() - 1)) ==
        "exit 0: layout zebra\n");
  folder.write("tokenizer.json", kLetters);  // counts first
  CHECK(outcome(folder, "--tokenizer . --text ab") == "exit 0: 258\n");
  folder.write("cut.model", contents(model).substr(0, 5000));
  CHECK(outcome(folder, "--tokenizer cut.model --text a") ==
        "exit 2: mtfc: error: cut.model: not a model of sentencepiece: it is cut short or damaged (it is the "
        "file "
        "tokenizer.model of a published model)\n");
}

TEST_CASE("what tokenize refuses") {
  const ScratchFolder folder;
  folder.write("tokenizer.json", kLetters);
  folder.write("large.json", R"({"model": {"type": "BPE", "vocab": {"a": 70000}, "merges": []}})");
  folder.write("x.txt", "a");
  CHECK(outcome(folder, "x.txt --tokenizer large.json -o x.u16") ==
        "exit 2: mtfc: error: -o: the tokenizer has ids up to 70,000, and two bytes hold ids up to 65,535 "
        "(write them as -o "
        "x.u32)\n");
  CHECK(outcome(folder, "x.txt --tokenizer . -o x.bin") ==
        "exit 2: mtfc: error: -o: 'x.bin' ends in .bin, but a list of tokens is written as .u16, .u32 or "
        ".txt (name the "
        "file otherwise; a name without an ending is possible too)\n");
  CHECK(outcome(folder, "x.txt --tokenizer . -o x.txt") ==
        "exit 2: mtfc: error: 'x.txt' is read, so it can't be written (name another file)\n");
  CHECK(outcome(folder, "y.txt --tokenizer .").starts_with("exit 1: mtfc: error: y.txt: "));
  CHECK(outcome(folder, "x.txt --tokenizer y.json")
            .starts_with("exit 2: mtfc: error: cannot read the tokenizer 'y.json'"));
  CHECK(outcome(folder, "x.txt --tokenizer . --end '<e>'") ==
        "exit 2: mtfc: error: --end: the tokenizer has no token '<e>'\n");
  CHECK(outcome(folder, "--tokenizer . --decode 300") ==
        "exit 2: mtfc: error: --decode: there is no token with the id 300 (ids are below 259)\n");
  CHECK(outcome(folder, "--tokenizer . --decode 1,x") ==
        "exit 2: mtfc: error: --decode: expected a token id, found 'x' (ids are whole numbers with commas "
        "between, as in "
        "12,7,300)\n");
  CHECK(outcome(folder, "x.txt --tokenizer . --text a") ==
        "exit 2: mtfc: error: --text excludes files (leave out either)\n");
  CHECK(outcome(folder, "x.txt --tokenizer . --decode 1") ==
        "exit 2: mtfc: error: --decode excludes texts, --special and --end (it makes a text of ids)\n");
}

TEST_CASE("parts of texts on several threads have the ids of the whole") {
  const std::string document = contents(fmt::format("{}/README.md", kSourceFolder));
  for (const auto& [file, index] : std::vector<std::pair<const char*, size_t>>{
           {"byte_level", 0}, {"byte_level", 1}, {"metaspace", 0}, {"words", 0}, {"unigram", 0}}) {
    CAPTURE(file);
    CAPTURE(index);
    const Tokenizer tokenizer = Tokenizer::from_json(tokenizer_json(file, index), file);
    const std::vector<std::string_view> texts = {document, "", std::string_view(document).substr(0, 1000)};
    for (const size_t part_size : {size_t{1}, size_t{100}, size_t{5000}}) {
      std::vector<std::vector<int32_t>> found(1);
      size_t bytes = 0;
      tokenize_texts(tokenizer, texts, {SpecialTokens::kAround, 3, part_size}, [&](const TokenBlock& block) {
        found.back().insert(found.back().end(), block.ids.begin(), block.ids.end());
        bytes += block.bytes;
        if (block.ends_text) found.emplace_back();
      });
      found.pop_back();
      REQUIRE(found.size() == texts.size());
      CHECK(bytes == document.size() + 1000);
      for (size_t i = 0; i < texts.size(); ++i)
        CHECK(found[i] == tokenizer.encode(texts[i], SpecialTokens::kAround));
    }
  }
}

TEST_CASE("an error on a thread ends the work") {
  const Tokenizer tokenizer = Tokenizer::from_json(
      R"({"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "u"}, "pre_tokenizer": {"type": "WhitespaceSplit"}})",
      "t");
  std::string text;
  for (int i = 0; i < 1000; ++i) text += i == 700 ? "b\n" : "a\n";
  CHECK_THROWS_WITH(
      tokenize_texts(tokenizer, {text}, {SpecialTokens::kNone, 2, 10}, [](const TokenBlock&) {}),
      "there is no token for 'b', and none for unknown words ('u')");
}

}  // namespace mtfc::tokenize_test
