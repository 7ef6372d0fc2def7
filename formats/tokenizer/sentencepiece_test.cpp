// Models of sentencepiece give what its own programs give (testdata/tokenizers/make_sentencepiece.py), behave like other
// tokenizers, and are refused if they are damaged.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "core/diagnostics/error.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/settings.h"
#include "formats/json/json_value.h"
#include "formats/testing/mutation.h"
#include "formats/tokenizer/parallel_tokens.h"
#include "formats/tokenizer/tokenizer.h"
#include "formats/tokenizer/tokenizer_file.h"

namespace mtfc::sentencepiece_test {
namespace {

using Ids = std::vector<int32_t>;

std::string model_file(const std::string& name) {
  return fmt::format("{}/testdata/tokenizers/{}.model", kSourceFolder, name);
}

Tokenizer model(const std::string& name) {
  return Tokenizer::from_file(contents(model_file(name)), name + ".model");
}

struct Case {
  std::string text;
  Ids ids;
  std::string decoded;
};

struct Reference {
  std::string name;
  std::vector<Case> cases;
};

std::vector<Reference> references() {
  const std::string file = fmt::format("{}/testdata/tokenizers/sentencepiece.json", kSourceFolder);
  std::vector<Reference> list;
  for (const JsonValue& item : parse_json(contents(file), file).items) {
    Reference& reference = list.emplace_back();
    reference.name = item.find("name")->text;
    for (const JsonValue& entry : item.find("cases")->items) {
      Case& added = reference.cases.emplace_back();
      added.text = entry.items.at(0).text;
      for (const JsonValue& id : entry.items.at(1).items)
        added.ids.push_back(static_cast<int32_t>(*id.integer()));
      added.decoded = entry.items.size() > 2 ? entry.items[2].text : added.text;
    }
  }
  return list;
}

std::string complaint(const std::string& bytes, const std::string& file = "x.model") {
  try {
    Tokenizer::from_file(bytes, file);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

// A field of a message: one of less than 128 bytes, or a number below 128.
std::string field(int number, const std::string& content) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(content.size())} + content;
}
std::string field(int number, int value) {
  return {static_cast<char>(number << 3), static_cast<char>(value)};
}
std::string piece(const std::string& text, int type) {
  return field(1, field(1, text) + field(3, type));
}

Ids joined(Ids first, const Ids& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

TEST_CASE("models of sentencepiece encode and decode as its own programs do") {
  size_t count = 0;
  for (const Reference& reference : references()) {
    CAPTURE(reference.name);
    const Tokenizer tokenizer = model(reference.name);
    for (const Case& known : reference.cases) {
      CAPTURE(known.text);
      CHECK(tokenizer.encode(known.text) == known.ids);
      CHECK(tokenizer.decode(known.ids, true) == known.decoded);
      CHECK(tokenizer.decode(known.ids) == known.decoded);
      CHECK(tokenizer.encode(known.text, SpecialTokens::kAround) ==
            joined(tokenizer.ids_before(), known.ids));
      ++count;
    }
  }
  CHECK(count == 1000);
}

TEST_CASE("tokens of models by their names, and around texts") {
  const Tokenizer llama = model("llama");
  CHECK(llama.size() == 700);
  CHECK(llama.id("<s>") == 1);
  CHECK(llama.id("<unk>") == 0);
  CHECK(llama.id("<none>") == std::nullopt);
  CHECK(llama.token(2) == "</s>");
  CHECK(llama.token(700) == std::nullopt);
  CHECK(llama.token(-1) == std::nullopt);
  CHECK(llama.ids_before() == Ids{1});
  CHECK(llama.ids_after().empty());
  CHECK(model("gemma").ids_before() == Ids{2});
  CHECK(model("t5").ids_before().empty());
  // Control tokens are shown, or left out, as with a tokenizer.json; only the first space of a text is left out.
  const Ids layout = llama.encode("layout");
  const Ids ids = joined(joined(joined({1}, layout), {2, 1}), layout);
  CHECK(llama.decode(ids) == "<s> layout</s><s> layout");
  CHECK(llama.decode(ids, true) == "layout layout");
  CHECK(llama.decode(Ids{}) == "");
  CHECK_THROWS_WITH_AS(llama.decode(Ids{1, 700}), "there is no token with the id 700 (ids are below 700)",
                       RunError);
}

TEST_CASE("parts of texts with a model have the ids of the whole") {
  for (const char* name : {"llama", "gemma", "t5"}) {
    CAPTURE(name);
    const Tokenizer tokenizer = model(name);
    CHECK(joined(tokenizer.encode("the"), tokenizer.encode_rest(" layout")) ==
          tokenizer.encode("the layout"));
  }
  CHECK_FALSE(model("t5").may_cut_lines());      // Spaces are removed.
  CHECK_FALSE(model("suffix").may_cut_lines());  // What ends a line gets a space.
  const std::string document = contents(fmt::format("{}/README.md", kSourceFolder));
  for (const char* name : {"llama", "gemma"}) {
    CAPTURE(name);
    const Tokenizer tokenizer = model(name);
    REQUIRE(tokenizer.may_cut_lines());
    for (const size_t part_size : {size_t{50}, size_t{5000}}) {
      Ids found;
      size_t blocks = 0;
      tokenize_texts(tokenizer, {document}, {SpecialTokens::kAround, 3, part_size},
                     [&](const TokenBlock& block) {
                       found.insert(found.end(), block.ids.begin(), block.ids.end());
                       ++blocks;
                     });
      CHECK(found == tokenizer.encode(document, SpecialTokens::kAround));
      CHECK(blocks > 2);
    }
  }
  // A token that goes on behind a line feed forbids it.
  std::string joining = contents(model_file("llama"));
  CHECK_FALSE(Tokenizer::from_file(joining + piece("\nx", 1), "x.model").may_cut_lines());
  CHECK(Tokenizer::from_file(joining + piece("\n\n", 1), "x.model").may_cut_lines());
}

TEST_CASE("bytes that are not UTF-8 count as U+FFFD with a model, too") {
  const Tokenizer tokenizer = model("llama");
  CHECK(tokenizer.encode("a\xe2\x96 b\xff") == tokenizer.encode("a\ufffd b\ufffd"));
  CHECK(tokenizer.decode(tokenizer.encode("a\xff")) == "a\ufffd");
}

TEST_CASE("several threads may use a model at once") {
  const Reference reference = references().at(0);
  const Tokenizer tokenizer = model(reference.name);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (int& count : wrong)
    threads.emplace_back([&] {
      for (const Case& known : reference.cases)
        if (tokenizer.encode(known.text) != known.ids) ++count;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4));
}

TEST_CASE("the file of a tokenizer in a folder") {
  const ScratchFolder folder;
  const std::string json = R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}})";
  const std::string path = folder.path.string();
  CHECK(tokenizer_file(path) == path + "/tokenizer.json");
  folder.write("tokenizer.model", contents(model_file("llama")));
  CHECK(tokenizer_file(path) == path + "/tokenizer.model");
  CHECK(read_tokenizer_file(path).tokenizer->size() == 700);
  folder.write("tokenizer.json", json);
  CHECK(read_tokenizer_file(path).tokenizer->size() == 1);
  // The name or else the beginning of a file tells which form it has.
  CHECK(read_tokenizer_file(folder.write("any", contents(model_file("t5")))).tokenizer->size() == 400);
  CHECK(read_tokenizer_file(folder.write("any", "\n" + json)).tokenizer->size() == 1);
}

TEST_CASE("damaged models are refused") {
  const std::string good = contents(model_file("t5"));
  const std::string hint = " (it is the file tokenizer.model of a published model)";
  const auto problem = [&](const std::string& text) {
    return "error: x.model: not a model of sentencepiece: " + text + hint;
  };
  CHECK(complaint(good) == "");
  CHECK(complaint("") == problem("it has no tokens"));
  CHECK(complaint("{}") == problem("it is cut short or damaged"));
  CHECK(complaint(good.substr(0, good.size() - 1)) == problem("it is cut short or damaged"));
  CHECK(complaint(piece("", 1)) == problem("a token is empty"));
  CHECK(complaint(piece("\xff", 1)) == problem("a token is not UTF-8, or has a zero byte"));
  CHECK(complaint(field(1, field(1, "a") + std::string("\x15\0\0\xc0\x7f", 5))) ==
        problem("the score of a token is not finite"));
  CHECK(complaint(good + field(3, field(2, "abc"))) == problem("the table of characters is damaged"));
  const std::string unknown = piece("<unk>", 2);
  // The units of the trie are all zero: the root is its own child.
  const std::string looping("\0\4\0\0", 4);
  std::string table = looping + std::string(1024, '\0') + std::string(1, '\0');
  const auto number = [](size_t value) {
    return std::string{static_cast<char>((value & 127) | 128), static_cast<char>(value >> 7)};
  };
  table = "\x12" + number(table.size()) + table;
  CHECK(complaint(unknown + "\x1a" + number(table.size()) + table) ==
        problem("the table of characters is damaged"));
  std::string nested = unknown;
  for (size_t i = 1; i <= 65; ++i) nested += piece(std::string(i, 'a'), 4);
  CHECK(complaint(nested) ==
        problem("a token begins with more than 63 others that are found in texts as they are"));
  // The library's own complaints.
  CHECK(complaint(piece("a", 1)).starts_with("error: x.model: not a model of sentencepiece: "));
  CHECK(complaint(unknown + unknown).starts_with("error: x.model: not a model of sentencepiece: "));
}

TEST_CASE("mutants of models are used or refused") {
  constexpr int64_t kMutants = 1000;
  const int64_t cases = setting("MTFC_CASES", kMutants), first = first_seed();
  const std::vector<std::string> names = {"llama", "gemma", "t5", "suffix"};
  const Vocabulary none;
  int64_t used = 0;
  for (int64_t i = 0; i < cases; ++i) {
    const auto seed = static_cast<uint64_t>(first + i);
    CAPTURE(seed);
    Mutator mutator(seed, none);
    const std::string bytes = mutator.mutated_bytes(contents(model_file(mutator.one_of(names))), 3);
    try {
      const Tokenizer tokenizer = Tokenizer::from_file(bytes, "x.model");
      const std::string text =
          "the layout\n\uff21\ufb01  <turn>x 12 \u4f60" + mutator.mutated_bytes("aaaa layout", 4);
      const Ids ids = tokenizer.encode(text, SpecialTokens::kAround);
      for (const int32_t id : ids) CHECK(tokenizer.token(id).has_value());
      tokenizer.decode(ids);
      tokenizer.encode_rest(text);
      ++used;
    } catch (const UserError& error) {
      CHECK(std::string(error.what()).find('\n') == std::string::npos);
    } catch (const RunError& error) {
      CHECK(std::string(error.what()).find('\n') == std::string::npos);
    }
  }
  CHECK(used > cases / 50);
}

}  // namespace mtfc::sentencepiece_test
