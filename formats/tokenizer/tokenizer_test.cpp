// Tokenizers give what the reference implementation gives (testdata/tokenizers/make.mjs), and say what is wrong with
// their files.

#include "formats/tokenizer/tokenizer.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/diagnostics/error.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "formats/json/json_value.h"

namespace mtfc::tokenizer_test {
namespace {

struct Case {
  std::string text;
  std::vector<int32_t> ids;
  std::string decoded, plain;
};

struct Reference {
  std::string name, json;
  std::vector<Case> cases;
};

std::vector<Reference> references(const std::string& file) {
  const std::string text = contents(fmt::format("{}/testdata/tokenizers/{}.json", kSourceFolder, file));
  const JsonValue root = parse_json(text, file);
  const auto& texts = root.find("texts")->items;
  std::vector<Reference> list;
  for (const JsonValue& item : root.find("tokenizers")->items) {
    Reference& reference = list.emplace_back();
    reference.name = item.find("name")->text;
    reference.json = item.find("tokenizer")->text;
    const auto& cases = item.find("cases")->items;
    for (size_t i = 0; i < cases.size(); ++i) {
      Case& added = reference.cases.emplace_back();
      added.text = texts.at(i).text;
      for (const JsonValue& id : cases[i].items[0].items)
        added.ids.push_back(static_cast<int32_t>(*id.integer()));
      const auto other = [&](size_t at) {
        return cases[i].items[at].kind == JsonKind::kString ? cases[i].items[at].text : added.text;
      };
      added.decoded = other(1);
      added.plain = other(2);
    }
  }
  return list;
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string mistake_in(const std::string& json) {
  return message_of([&] { Tokenizer::from_json(json, "t.json"); });
}

// A tokenizer.json with this text in the place of its model, and these further keys.
std::string with(const std::string& keys,
                 const std::string& model =
                     R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]})") {
  return fmt::format("{{\"model\": {}{}{}}}", model, keys.empty() ? "" : ", ", keys);
}

}  // namespace

TEST_CASE("tokenizers encode and decode as the reference does") {
  for (const char* file : {"byte_level", "metaspace", "words", "unigram", "components"}) {
    size_t count = 0;
    for (const Reference& reference : references(file)) {
      CAPTURE(reference.name);
      const Tokenizer tokenizer = Tokenizer::from_json(reference.json, reference.name);
      for (const Case& known : reference.cases) {
        CAPTURE(known.text);
        CHECK(tokenizer.encode(known.text, SpecialTokens::kAround) == known.ids);
        CHECK(tokenizer.decode(known.ids) == known.decoded);
        CHECK(tokenizer.decode(known.ids, true) == known.plain);
        ++count;
      }
    }
    CHECK(count > 50);
  }
}

TEST_CASE("several threads may use a tokenizer at once") {
  const Reference reference = references("byte_level").at(0);
  const Tokenizer tokenizer = Tokenizer::from_json(reference.json, reference.name);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (int& count : wrong)
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round)
        for (const Case& known : reference.cases)
          if (tokenizer.encode(known.text, SpecialTokens::kAround) != known.ids) ++count;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4));
}

TEST_CASE("texts that are cut between lines have the same ids") {
  int cut = 0;
  for (const char* file : {"byte_level", "metaspace", "words"})
    for (const Reference& reference : references(file)) {
      CAPTURE(reference.name);
      const Tokenizer tokenizer = Tokenizer::from_json(reference.json, reference.name);
      if (!tokenizer.may_cut_lines()) continue;
      ++cut;
      const std::string first = "the layout \n\nmodel <mask>\n \n\n", rest = "Next line\nand\n\nmore";
      const std::vector<int32_t> whole = tokenizer.encode(first + rest);
      std::vector<int32_t> parts = tokenizer.encode_lines(first, rest[0], false);
      const std::vector<int32_t> second = tokenizer.encode_lines("Next line\n", 'a', true);
      const std::vector<int32_t> third = tokenizer.encode_rest("and\n\nmore");
      parts.insert(parts.end(), second.begin(), second.end());
      parts.insert(parts.end(), third.begin(), third.end());
      CHECK(parts == whole);
    }
  CHECK(cut >= 5);
}

TEST_CASE("which tokenizers permit to cut texts between lines") {
  const auto may_cut = [](const std::string& keys) {
    return Tokenizer::from_json(with(keys), "t.json").may_cut_lines();
  };
  const auto split = [](const std::string& pattern) {
    return fmt::format(
        R"("pre_tokenizer": {{"type": "Split", "pattern": {{"Regex": "{}"}}, "behavior": "Isolated", "invert": false}})",
        pattern);
  };
  CHECK(may_cut(split(R"(\\p{L}+|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+)")));
  CHECK(may_cut(split(R"((?:[^\\r\\n]?[a-z])+|[A-Z]|\\n)")));
  CHECK_FALSE(may_cut(split(R"(\\s?\\p{L}+)")));       // a line feed and a letter are one match
  CHECK_FALSE(may_cut(split(R"(\\p{L}+(?=x)|\\n)")));  // looks further
  CHECK_FALSE(may_cut(split(R"([^x]+)")));
  CHECK_FALSE(may_cut(split(R"((?:a|\\n)+)")));
  CHECK_FALSE(may_cut(split(R"((?<=\\n)a|\\n)")));
  CHECK_FALSE(
      may_cut(split(R"(\\n)")));  // The model has no token for most letters, and could join unknown ones.
  const std::string words = R"("pre_tokenizer": {"type": "WhitespaceSplit"})";
  CHECK(may_cut(words));
  CHECK_FALSE(
      may_cut(words + R"(, "normalizer": {"type": "Replace", "pattern": {"String": "\n"}, "content": " "})"));
  CHECK_FALSE(may_cut(words + R"(, "added_tokens": [{"id": 3, "content": "x\ny"}])"));
  CHECK_FALSE(may_cut(words + R"(, "added_tokens": [{"id": 3, "content": "x", "lstrip": true}])"));
  CHECK(may_cut(words + R"(, "added_tokens": [{"id": 3, "content": "x", "rstrip": true}])"));
  CHECK_FALSE(may_cut(words + R"(, "added_tokens": [{"id": 3, "content": "x", "rstrip": true}],
                                  "normalizer": {"type": "Prepend", "prepend": "a"})"));
}

TEST_CASE("bytes that are not UTF-8 are U+FFFD") {
  const Tokenizer tokenizer = Tokenizer::from_json(
      R"({"model": {"type": "BPE", "unk_token": "?", "vocab": {"?": 0, "a": 1, "\ufffd": 2}, "merges": []}})",
      "t.json");
  // From the examples of Unicode's section 3.9, "U+FFFD Substitution of Maximal Subparts".
  CHECK(tokenizer.encode("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82"
                         "a") == std::vector<int32_t>{2, 2, 2, 2, 2, 2, 2, 2, 1});
  CHECK(tokenizer.encode("\xED\xA0\x80\xED\xBF\xBF\xED\xAF"
                         "a") == std::vector<int32_t>{2, 2, 2, 2, 2, 2, 2, 2, 1});
  CHECK(tokenizer.encode("\xF4\x91\x92\x93\xFF"
                         "a\x80\xBF"
                         "a") == std::vector<int32_t>{2, 2, 2, 2, 2, 1, 2, 2, 1});
  CHECK(tokenizer.encode("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF"
                         "a") == std::vector<int32_t>{2, 2, 2, 2, 1});
  CHECK(tokenizer.encode("a\xE4\xBD") == std::vector<int32_t>{1, 2});
}

TEST_CASE("tokens and ids") {
  const Tokenizer tokenizer = Tokenizer::from_json(
      with(R"("added_tokens": [{"id": 9, "content": "<s>", "special": true}])"), "t.json");
  CHECK(tokenizer.size() == 10);
  CHECK(tokenizer.id("ab") == 2);
  CHECK(tokenizer.id("<s>") == 9);
  CHECK(tokenizer.id("c") == std::nullopt);
  CHECK(tokenizer.token(9) == "<s>");
  CHECK(tokenizer.token(5) == std::nullopt);
  CHECK(tokenizer.encode("ab<s>c") == std::vector<int32_t>{2, 9});
  for (const int32_t id : {-1, 5, 10, 2147483647})
    CHECK(message_of([&] { tokenizer.decode(std::vector{id}); }) ==
          fmt::format("there is no token with the id {} (ids are below 10)", id));
}

TEST_CASE("mistakes in a tokenizer.json are named") {
  CHECK(mistake_in("{") ==
        "t.json:1:2: error: malformed JSON: the file ends in the middle: expected a key in quotes");
  CHECK(mistake_in("[]") == "t.json:1:1: error: expected an object, found a list");
  CHECK(mistake_in("{}") == "t.json:1:1: error: 'model' is missing");
  CHECK(mistake_in(with(R"("modle": 1)")).find("/modle: unknown key 'modle' (did you mean 'model'?)") !=
        std::string::npos);
  CHECK(mistake_in(with("", R"({"type": "BPEE"})"))
            .find("/model/type: 'BPEE' is not known as a model (did you mean 'BPE'?)") != std::string::npos);
  const auto split = [](const std::string& pattern) {
    return mistake_in(with(fmt::format(
        R"("pre_tokenizer": {{"type": "Split", "pattern": {{"Regex": "{}"}}, "behavior": "Isolated"}})",
        pattern)));
  };
  CHECK(split("(a").ends_with(
      "/pre_tokenizer/pattern/Regex: the expression '(a' is not understood: missing closing parenthesis"));
  CHECK(split("[a").ends_with(
      "the expression '[a' is not understood: [ without ] is not supported in regular expressions"));
  CHECK(split("a{2}+").ends_with(
      "the expression 'a{2}+' is not understood: {n}+ is not supported in regular expressions"));
  CHECK(mistake_in(with(R"("normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"})"))
            .ends_with("/normalizer/precompiled_charsmap: the table of characters is damaged"));
  CHECK(mistake_in(with(R"("normalizer": {"type": "Precompiled", "precompiled_charsmap": "A!"})"))
            .ends_with("the table of characters is not in base64"));
  CHECK(mistake_in(with(R"("post_processor": {"type": "BertProcessing", "cls": ["a", 0], "sep": ["b", 7]})"))
            .ends_with("/post_processor: there is no token with the id 7"));
  CHECK(mistake_in(with(R"("decoder": {"type": "CTC"})")).find("'CTC' is not known as a decoder") !=
        std::string::npos);
  CHECK(mistake_in(with(R"("added_tokens": [{"id": 5, "content": "ab"}])"))
            .ends_with("/added_tokens/0/id: 'ab' has the id 2 in the vocabulary"));
}

TEST_CASE("mistakes in the model of a tokenizer.json are named") {
  const auto bpe = [](const std::string& keys) {
    return mistake_in(with("", fmt::format(R"({{"type": "BPE", {}}})", keys)));
  };
  CHECK(bpe(R"("vocab": {"a": 0}, "merges": [["a", "b"]])")
            .ends_with("/model/merges/0: the token 'b' is not in the vocabulary"));
  CHECK(bpe(R"("vocab": {"a": 0, "b": 1}, "merges": ["a b"])")
            .ends_with("/model/merges/0: the token 'ab' is not in the vocabulary"));
  CHECK(bpe(R"("vocab": {"a": 0}, "merges": ["a"])")
            .ends_with("/model/merges/0: expected a merge, which is a pair of tokens"));
  CHECK(bpe(R"("vocab": {"a": -1}, "merges": [])")
            .ends_with("/model/vocab/a: expected an id from 0 to 16777215"));
  CHECK(bpe(R"("vocab": {"a": 99999999999999999999}, "merges": [])")
            .ends_with("expected an id from 0 to 16777215"));
  CHECK(bpe(R"("vocab": {"a": 0}, "merges": [], "dropout": 0.1)")
            .ends_with("/model/dropout: dropout is for training tokenizers, and must be null or 0"));
  CHECK(bpe(R"("vocab": {"a": 0}, "merges": [], "unk_token": "u")")
            .ends_with("/model/unk_token: the token 'u' is not in the vocabulary"));
  CHECK(mistake_in(with("", R"({"type": "Unigram", "vocab": [["a", 1]], "unk_id": 1})"))
            .ends_with("/model/unk_id: there is no token with this id"));
  CHECK(mistake_in(with("", R"({"type": "Unigram", "vocab": [["a"]]})"))
            .ends_with("/model/vocab/0: expected a token with its score"));
}

TEST_CASE("words that a model can't tokenize") {
  const auto failure = [](const std::string& model) {
    return message_of([&] { Tokenizer::from_json(with("", model), "t.json").encode("x"); });
  };
  CHECK(failure(R"({"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "u"})") ==
        "there is no token for 'x', and none for unknown words ('u')");
  CHECK(failure(R"({"type": "Unigram", "vocab": [["a", 1]]})") ==
        "there is no token for 'x', and none for unknown characters");
}

TEST_CASE("a damaged file is an error, or another tokenizer") {
  const std::string json = references("unigram").at(0).json;
  for (size_t size = 0; size < json.size(); size += 97) {
    CAPTURE(size);
    CHECK(mistake_in(json.substr(0, size)).find("t.json:1:") == 0);
  }
}

TEST_CASE("long words are merged as short ones are") {
  // The first of equal pairs is merged first: aaa is aa a.
  const Tokenizer tokenizer = Tokenizer::from_json(
      R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "aa": 2, "ab": 3, "aab": 4}, "merges": ["a a", "aa b", "a b"]}})",
      "t.json");
  std::string text;
  std::vector<int32_t> expected;
  for (int i = 0; i < 1000; ++i) {
    text += "aaab";
    expected.insert(expected.end(), {2, 3});
  }
  CHECK(tokenizer.encode("aaab") == std::vector<int32_t>{2, 3});
  CHECK(tokenizer.encode(text) == expected);
}

}  // namespace mtfc::tokenizer_test
