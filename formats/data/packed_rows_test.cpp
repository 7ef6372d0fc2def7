// Texts as rows of tokens, and the parts of these rows that other inputs get.

#include "formats/data/packed_rows.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "core/diagnostics/error.h"
#include "core/testing/scratch_folder.h"
#include "formats/data/data_spec.h"
#include "formats/data/text_tokens.h"
#include "formats/testing/zip_bytes.h"

namespace mtfc::packed_rows_test {
namespace {

using Ints = std::vector<int64_t>;

// "the" is a token, <e> is a special one, and [ and ] stand around texts.
constexpr const char* kTokenizer = R"({"model": {"type": "BPE", "merges": [["t", "h"], ["th", "e"]],
  "vocab": {"t": 0, "h": 1, "e": 2, "th": 3, "the": 4, "n": 5, " ": 6, "<e>": 7, "[": 8, "]": 9, "é": 10}},
  "added_tokens": [{"id": 7, "content": "<e>", "special": true}],
  "post_processor": {"type": "BertProcessing", "cls": ["[", 8], "sep": ["]", 9]}})";

Ints values_of(const StoredArray& array) {
  Ints values;
  int64_t count = 1;
  for (const int64_t size : array.shape) count *= size;
  for (int64_t i = 0; i < count; ++i) {
    if (array.type == StoredType::kU8) {
      values.push_back(std::to_integer<int64_t>(array.data[i]));
    } else if (array.type == StoredType::kU16) {
      uint16_t value = 0;
      std::memcpy(&value, array.data + 2 * i, 2);
      values.push_back(value);
    } else {
      REQUIRE(array.type == StoredType::kI32);
      int32_t value = 0;
      std::memcpy(&value, array.data + 4 * i, 4);
      values.push_back(value);
    }
  }
  return values;
}

struct Fixture {
  ScratchFolder folder;
  TextTokens texts;
  int64_t length = 4;

  Fixture() { folder.write("tokenizer.json", kTokenizer); }

  std::string path(const std::string& name) const { return (folder.path / name).string(); }

  InputData data(const std::string& spec, const std::string& view = "") {
    const NameLookup names = lookup_of(Dims{});
    const Dims dims = {{"batch", 2}, {"length", length}};
    FedInput input{"x", DType::kI32, {"--input", 0, 0, ""}, dims, &texts};
    if (!view.empty()) {
      input.view = data_view(input, view, names);
      input.view->dims = dims;
    }
    return read_input_data(input, spec, names);
  }
  StoredArray array(const std::string& spec, const std::string& view = "") {
    return std::get<StoredArray>(data(spec, view).source);
  }
  Ints values(const std::string& spec, const std::string& view = "") { return values_of(array(spec, view)); }
  std::string complaint(const std::string& spec, const std::string& view = "") {
    try {
      data(spec, view);
    } catch (const UserError& error) {
      return error.what();
    } catch (const RunError& error) {
      return std::string("run: ") + error.what();
    }
    return "";
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "each text is a row, filled up with padding") {
  const std::string lines = "lines:" + folder.write("a.txt", "the\r\n\nten n\n");
  CHECK(array(lines + ",long=cut").shape == Ints{2, 4});
  CHECK(values(lines + ",long=cut") == Ints{'t', 'h', 'e', 0, 't', 'e', 'n', ' '});
  const std::string cut = lines + ",long=cut,tokenizer=" + folder.path.string();
  CHECK(values(cut) == Ints{4, 0, 0, 0, 0, 2, 5, 6});
  CHECK(values(cut + ",pad=<e>") == Ints{4, 7, 7, 7, 0, 2, 5, 6});
  CHECK(values(cut + ",end=<e>,pad=9") == Ints{4, 7, 9, 9, 0, 2, 5, 6});
  CHECK(values(cut + ",special=yes,pad=5") == Ints{8, 4, 9, 5, 8, 0, 2, 5});
  CHECK(values(cut, "of:x,part=segments") == Ints{1, 0, 0, 0, 1, 1, 1, 1});
  CHECK(values(cut, "of:x,part=positions") == Ints{0, 0, 0, 0, 0, 1, 2, 3});
  CHECK(values(cut, "of:x,part=mask,shift=1") == Ints{0, 0, 0, 0, 1, 1, 1, 0});
  CHECK(values(cut, "of:x,shift=2") == Ints{0, 0, 0, 0, 5, 6, 0, 0});
}

TEST_CASE_FIXTURE(Fixture, "packed rows, as in the header") {
  const std::string packed = "lines:" + folder.write("a.txt", "ab\nc\ndef\n") + ",pack=yes";
  CHECK(values(packed) == Ints{'a', 'b', 'c', 0, 'd', 'e', 'f', 0});
  CHECK(values(packed, "of:x,part=segments") == Ints{1, 1, 2, 0, 1, 1, 1, 0});
  CHECK(values(packed, "of:x,part=positions") == Ints{0, 1, 0, 0, 0, 1, 2, 0});
  CHECK(values(packed, "of:x,part=mask") == Ints{1, 1, 1, 0, 1, 1, 1, 0});
  CHECK(values(packed, "of:x,part=tokens,shift=1") == Ints{'b', 0, 0, 0, 'e', 'f', 0, 0});
  CHECK(values(packed, "of:x,part=mask,shift=1") == Ints{1, 0, 0, 0, 1, 1, 0, 0});
  CHECK(values(packed, "of:x,part=mask,shift=99") == Ints(8, 0));
  CHECK(values(packed + ",rows=1:2") == Ints{'c', 0, 0, 0});
}

TEST_CASE_FIXTURE(Fixture, "a text is put into the first row that has room") {
  const std::string packed = "lines:" + folder.write("a.txt", "aaa\nbbb\nc\ndd\nee\nf\n") + ",pack=yes";
  CHECK(values(packed) == Ints{'a', 'a', 'a', 'c', 'b', 'b', 'b', 'f', 'd', 'd', 'e', 'e'});
}

TEST_CASE_FIXTURE(Fixture, "long texts") {
  const std::string lines = "lines:" + folder.write("a.txt", "a\nbcdefg\n");
  const std::string problem = path("a.txt") + ":2: the text has 6 tokens, more than the 4 of a row";
  CHECK(complaint(lines).find(problem + " (long=cut leaves out the rest)") != std::string::npos);
  CHECK(complaint(lines + ",pack=yes").find(problem + " (long=split goes on") != std::string::npos);
  CHECK(values(lines + ",pack=yes,long=split") == Ints{'a', 'f', 'g', 0, 'b', 'c', 'd', 'e'});
  CHECK(values(lines + ",pack=yes,long=split", "of:x,part=segments") == Ints{1, 2, 2, 0, 1, 1, 1, 1});
  CHECK(complaint(lines + ",long=split").find("long=split divides texts over rows") != std::string::npos);
  CHECK(complaint(lines + ",long=all").find("unknown long 'all' (long=cut or long=split)") !=
        std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "only answers count, in CSV and in JSON Lines") {
  length = 8;
  const std::string csv =
      "csv:" + folder.write("a.csv", "id,q,a\n1,\"the \",ten\n2,n,the\n") + ",text=q,answer=a,end=<e>";
  const std::string jsonl =
      "jsonl:" +
      folder.write("a.jsonl", "{\"a\": \"ten\", \"q\": \"the \"}\n{\"q\": \"n\", \"a\": \"the\"}\n") +
      ",text=q,answer=a,end=<e>";
  for (const std::string& source : {csv, jsonl}) {
    const std::string spec = source + ",tokenizer=" + path("tokenizer.json");
    CHECK(values(spec) == Ints{4, 6, 0, 2, 5, 7, 0, 0, 5, 4, 7, 0, 0, 0, 0, 0});
    CHECK(values(spec, "of:x,part=mask") == Ints{0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0});
    CHECK(values(spec, "of:x,part=mask,shift=1") == Ints{0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0});
    CHECK(array(spec).ids_below == 8);
  }
}

TEST_CASE_FIXTURE(Fixture, "texts in gzipped files") {
  const auto packed = [&](const std::string& name, const std::string& text) {
    constexpr int kGzip = 16;
    return folder.write(name, deflated_bytes(text, MAX_WBITS + kGzip));
  };
  const std::string tokenizer = ",tokenizer=" + path("tokenizer.json");
  CHECK(values("lines:" + packed("a.gz", "the\nten\n") + tokenizer) == Ints{4, 0, 0, 0, 0, 2, 5, 0});
  const std::string csv =
      "csv:" + packed("b", "id,q,a\n1,\"the \",n\n2,n,the\n") + ",text=q,answer=a" + tokenizer;
  CHECK(values(csv) == Ints{4, 6, 5, 0, 5, 4, 0, 0});
  CHECK(values(csv, "of:x,part=mask") == Ints{0, 0, 1, 0, 0, 1, 0, 0});
  packed("c-1.gz", "{\"q\": \"the\"}\n{\"q\": \"ten\"}\n");
  packed("c-2.gz", "{\"q\": \"n\"}\n");
  CHECK(values("jsonl:" + path("c-*.gz") + ",text=q" + tokenizer) ==
        Ints{4, 0, 0, 0, 0, 2, 5, 0, 5, 0, 0, 0});
  const std::string whole = deflated_bytes("the\nten\n", MAX_WBITS + 16);
  CHECK(complaint("lines:" + folder.write("cut.gz", whole.substr(0, whole.size() - 4)) + tokenizer)
            .starts_with("run: " + path("cut.gz") + ": "));
}

TEST_CASE_FIXTURE(Fixture, "texts of which every rank should not make tokens") {
  const std::string large = folder.write("large.txt", "");
  std::filesystem::resize_file(large, (size_t{256} << 20) + 1);  // without blocks on the disk
  const std::string expected = fmt::format(
      "error: {}: the text has more than 256 MiB, of which every rank would make tokens (make them once: "
      "mtfc "
      "tokenize {} --tokenizer {} -o FILE.u32, which tokens:FILE.u32 reads; or take some rows of short "
      "texts: "
      ",rows=A:B)",
      large, large, path("tokenizer.json"));
  const std::string tokenizer = ",tokenizer=" + path("tokenizer.json");
  CHECK(complaint("text:" + large + tokenizer) == expected);
  CHECK(complaint("lines:" + large + ",long=cut" + tokenizer) == expected);
}

TEST_CASE_FIXTURE(Fixture, "the share of rows that is no padding") {
  CHECK(texts.filled() == std::nullopt);
  data("lines:" + folder.write("a.txt", "ab\nc\ndef\n") + ",pack=yes");
  CHECK(texts.filled() == 0.75);
  data("lines:" + path("a.txt"));
  CHECK(texts.filled() == 0.6);
}

TEST_CASE_FIXTURE(Fixture, "texts of several files, of which the last tenth is held out") {
  for (int i = 0; i < 2; ++i) {
    std::string text;
    for (int j = 0; j < 10; ++j) text += static_cast<char>('a' + 10 * i + j) + std::string("\n");
    folder.write(fmt::format("part-{}", i), text);
  }
  const std::string lines = "lines:" + path("part-*");
  length = 2;
  CHECK(array(lines).shape == Ints{20, 2});
  CHECK(values(lines + ",split=valid") == Ints{'s', 0, 't', 0});
  CHECK(array(lines + ",split=train").shape == Ints{18, 2});
  CHECK(values(lines + ",rows=5:15,split=valid") == Ints{'o', 0});
  CHECK(complaint(lines + ",rows=5:25").find("rows=5:25 are not rows of") != std::string::npos);
  CHECK(complaint(lines + ",rows=0:9,split=valid").find("split=valid is empty") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a text as one stream of tokens") {
  const std::string spec = "text:" + folder.write("a.txt", "") + ",tokenizer=" + folder.path.string();
  folder.write("a.txt", "then the<e>n");
  const TokenSource source = std::get<TokenSource>(Fixture::data(spec).source);
  CHECK(source.tokens.type == StoredType::kU16);
  CHECK(values_of(source.tokens) == Ints{4, 5, 6, 4, 7, 5});
  CHECK(source.tokens.ids_below == 8);
  CHECK(std::get<TokenSource>(data(spec, "of:x,shift=3").source).shift == 3);
  CHECK(std::get<TokenSource>(data(spec, "of:x,shift=3").source).tokens.data == source.tokens.data);
  CHECK(complaint(spec, "of:x,part=positions").find("can't have such a part of windows") !=
        std::string::npos);
  CHECK(values("random:int,hi=4", "of:x,part=positions") == Ints{0, 1, 2, 3, 0, 1, 2, 3});
  CHECK(values("random:int,hi=4", "of:x,part=segments") == Ints(8, 1));
  CHECK(complaint("text:" + folder.write("empty", "") + ",tokenizer=" + folder.path.string()) ==
        "run: " + path("empty") + ": the file is empty");
  // Another tokenizer makes other data, as a resumed run sees.
  folder.write("other.json", std::string(kTokenizer) + "\n");
  TextTokens other(path("other.json"));
  const NameLookup names = lookup_of(Dims{});
  const InputData again = read_input_data({"x", DType::kI32, {}, {}, &other}, "text:" + path("a.txt"), names);
  CHECK(values_of(std::get<TokenSource>(again.source).tokens) == values_of(source.tokens));
  CHECK(std::get<TokenSource>(again.source).tokens.sample.hash != source.tokens.sample.hash);
}

TEST_CASE_FIXTURE(Fixture, "no token is lost, and no segment is in two rows") {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::string text;
    Ints expected(256, 0);
    length = 1 + static_cast<int64_t>(random() % 20);
    for (size_t i = 1 + random() % 300; i > 0; --i) {
      for (size_t j = 1 + random() % 15; j > 0; --j) {
        const char letter = static_cast<char>('a' + random() % 26);
        text += letter;
        ++expected[static_cast<unsigned char>(letter)];
      }
      text += '\n';
    }
    TextTokens fresh;
    std::swap(texts, fresh);
    const std::string spec = "lines:" + folder.write("r.txt", text) + ",pack=yes,long=split";
    const Ints tokens = values(spec), segments = values(spec, "of:x,part=segments"),
               positions = values(spec, "of:x,part=positions");
    Ints counted(256, 0);
    for (size_t i = 0; i < tokens.size(); ++i) {
      const bool begins_row = static_cast<int64_t>(i) % length == 0;
      if (segments[i] != 0) ++counted[static_cast<size_t>(tokens[i])];
      const bool goes_on = !begins_row && segments[i] != 0 && segments[i] == segments[i - 1];
      CHECK(positions[i] == (goes_on ? positions[i - 1] + 1 : 0));
      if (segments[i] != 0 && !goes_on) CHECK(segments[i] == (begins_row ? 1 : segments[i - 1] + 1));
    }
    CHECK(counted == expected);
  }
}

TEST_CASE_FIXTURE(Fixture, "mistakes in texts and their options") {
  const std::string jsonl = "jsonl:" + folder.write("a.jsonl", "{\"q\": \"a\"}\n\n{\"q\": 1}\n");
  CHECK(complaint(jsonl + ",text=q") ==
        "run: " + path("a.jsonl") + ":3: 'q' has a number, which is not a text");
  CHECK(complaint(jsonl + ",text=p") == "run: " + path("a.jsonl") + ":1: there is no key 'p'");
  CHECK(complaint(jsonl + ",text=q,pack=maybe").find("unknown pack 'maybe' (pack=yes or pack=no)") !=
        std::string::npos);
  CHECK(complaint(jsonl + ",text=q,shift=1").find("(give those inputs of:x,shift=1 or of:x,part=mask)") !=
        std::string::npos);
  CHECK(complaint(jsonl + ",text=q,end=<e>") ==
        "error: end=<e>: without a tokenizer, a token is an id (give the source its "
        "tokenizer=FILE.json|FOLDER)");
  CHECK(complaint(jsonl + ",text=q,end=<f>,tokenizer=" + folder.path.string()) ==
        fmt::format("error: end=<f>: the tokenizer '{}' has no such token", path("tokenizer.json")));
  CHECK(complaint(jsonl + ",text=q,tokenizer=" + path("none.json"))
            .starts_with("error: cannot read the tokenizer '"));
  CHECK(complaint("lines:" + folder.write("blank", "\n\n")) ==
        "run: " + path("blank") + ": the file has no texts");
  CHECK(complaint("csv:" + folder.write("a.csv", "ab,ac\nx,y\n") + ",text=a*")
            .find("'a*' names several columns") != std::string::npos);
  CHECK(complaint("jsonl:" + folder.write("bad.jsonl", "{\"q\": \"\xff\"}\n") + ",text=q") ==
        "run: " + path("bad.jsonl") + ":1: the line is not JSON");
  CHECK(complaint("random:int,hi=4", "of:x,part=masks").find("unknown part 'masks' (did you mean 'mask'?)") !=
        std::string::npos);
  CHECK(complaint("of:y,part=mask").find("a part of the data of another input") != std::string::npos);
}

}  // namespace mtfc::packed_rows_test
