#include "formats/data/data_spec.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/diagnostics/error.h"
#include "core/testing/scratch_folder.h"
#include "formats/data/idx.h"
#include "formats/data/joined_array.h"
#include "formats/data/npy.h"

namespace mtfc::data_spec_test {

namespace {

const NameLookup kNames = lookup_of(Dims{{"vocab", 100}});

// Returns the path of the file.
std::string write_gzip(const ScratchFolder& folder, const std::string& name, const std::string& bytes) {
  const std::string path = folder / name;
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  return path;
}

const std::string kIdx(
    "\0\0\x08\x02\0\0\0\x03\0\0\0\x02"
    "abcdef",
    18);

InputData read(const std::string& spec) {
  return read_input_data({"x"}, spec, kNames);
}

std::string complaint(const std::string& spec) {
  try {
    read(spec);
  } catch (const UserError& error) {
    return error.what();
  } catch (const RunError& error) {
    return std::string("run: ") + error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("random sources") {
  CHECK(std::get<RandomSource>(read("random:normal").source).kind == RandomKind::kNormal);
  const RandomSource uniform = std::get<RandomSource>(read("random:uniform,lo=-1,hi=1/2").source);
  CHECK(uniform.low == -1);
  CHECK(uniform.high == 0.5);
  const InputData data = read("random:int,hi=min(vocab, 50),scale=2");
  CHECK(std::get<RandomSource>(data.source).kind == RandomKind::kInteger);
  CHECK(std::get<RandomSource>(data.source).high == 50);
  CHECK(data.scale == 2);
}

TEST_CASE("expressions see the model's params and dims") {
  const std::map<std::string, double> names = {{"vocab", 100}, {"share", 0.5}};
  const InputData data = read_input_data({"x"}, "random:int,hi=vocab * share", lookup_of(names));
  CHECK(std::get<RandomSource>(data.source).high == 50);
}

TEST_CASE("IDX files, plain and compressed") {
  const ScratchFolder folder;
  for (const std::string& path : {folder.write("d,1", kIdx), write_gzip(folder, "d.gz", kIdx)}) {
    const InputData data = read("idx:" + path + ",rows=1:,scale=1/255");
    const StoredArray& array = std::get<StoredArray>(data.source);
    CHECK(array.type == StoredType::kU8);
    CHECK(array.shape == std::vector<int64_t>{3, 2});
    CHECK(std::string(reinterpret_cast<const char*>(array.data), 6) == "abcdef");
    CHECK(data.rows == std::pair<int64_t, int64_t>{1, 3});
    CHECK(data.scale == doctest::Approx(1.0 / 255));
  }
  const std::string path = folder.write("wide", std::string("\0\0\x0B\x01\0\0\0\x01\1\2", 10));
  CHECK(read_idx(path).big_endian);
}

TEST_CASE("broken IDX files are refused with a reason") {
  const ScratchFolder folder;
  const auto refusal = [](const std::string& path) {
    const std::string text = complaint("idx:" + path);
    CHECK(text.starts_with("run: " + path + ": "));
    return text.substr(std::min(text.size(), path.size() + 7));
  };
  CHECK(refusal(folder.write("a", "")) == "the file is empty");
  CHECK(refusal(folder.write("a", "PK\3\4")) == "not an IDX file");
  CHECK(refusal(folder.write("a", std::string("\0\0\x07\x01", 4))) == "IDX type 0x07 is not known");
  CHECK(refusal(folder.write("a", kIdx.substr(0, 9))) == "the IDX header is cut off");
  const std::string promise = "the IDX header promises 6 bytes of elements, but the file has ";
  CHECK(refusal(folder.write("a", kIdx.substr(0, 17))) == promise + "5");
  CHECK(refusal(folder.write("a", kIdx + "x")) == promise + "7");
  CHECK(refusal(write_gzip(folder, "a", kIdx.substr(0, 17))) == promise + "5");
  CHECK(refusal(write_gzip(folder, "a", kIdx + "x")) == promise + "7");
  const std::string huge("\0\0\x08\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 16);
  CHECK(refusal(folder.write("a", huge)) == "the IDX header's sizes are impossibly large");
  const std::string large("\0\0\x08\x02\x01\0\0\0\x01\0\0\0", 12);  // 2^48
  CHECK(refusal(folder.write("a", large)) ==
        "the IDX header promises 281474976710656 bytes of elements, but the file has 0");
  CHECK(refusal(write_gzip(folder, "a", large)).ends_with("the file has 0"));
  const std::string good = contents(write_gzip(folder, "g", kIdx));
  for (const size_t cut : {size_t{1}, size_t{8}, size_t{9}, size_t{14}, good.size() - 12})
    CHECK(refusal(folder.write("a", good.substr(0, good.size() - cut))) == "the gzip data is cut off");
  std::string wrong = good;
  wrong[wrong.size() - 6] = static_cast<char>(wrong[wrong.size() - 6] ^ 1);  // in the checksum
  CHECK(refusal(folder.write("a", wrong)).starts_with("broken gzip data"));
  CHECK(complaint("idx:/nonexistent") ==
        "run: cannot read the data of input 'x' from '/nonexistent': No such file or directory");
}

TEST_CASE("tokens of text and of integers") {
  const ScratchFolder folder;
  const auto tokens = [](const std::string& spec) { return std::get<TokenSource>(read(spec).source); };
  const std::string text = folder.write("t,1.txt", "abcdefghijklmnopqrstuvwxyz");
  const TokenSource whole = tokens("text:" + text + ",shift=vocab/50");
  CHECK(whole.tokens.shape == std::vector<int64_t>{26});
  CHECK(whole.tokens.type == StoredType::kU8);
  CHECK(whole.shift == 2);
  // The last tenth, rounded down, is held out; both parts together are the whole text.
  const TokenSource train = tokens("text:" + text + ",split=train"),
                    valid = tokens("text:" + text + ",split=valid");
  CHECK(train.first == 0);
  CHECK(train.tokens.shape[0] == 24);
  CHECK(valid.first == 24);
  CHECK(valid.tokens.shape[0] == 2);
  CHECK(static_cast<char>(valid.tokens.data[0]) == 'y');
  const TokenSource part = tokens("text:" + text + ",rows=3:23,split=valid");
  CHECK(part.first == 21);
  CHECK(part.tokens.shape[0] == 2);
  CHECK(static_cast<char>(part.tokens.data[1]) == 'w');
  CHECK(tokens("text:" + text + ",rows=0:9,split=valid").tokens.shape[0] == 0);
  CHECK(complaint("text:" + text + ",rows=3:27").ends_with("has 26 bytes"));
  const std::string wide = folder.write("wide", std::string("\1\0\2\0\3\0\4\0", 8));
  CHECK(tokens("tokens:" + wide).tokens.type == StoredType::kU16);
  const TokenSource two = tokens("tokens:" + wide + ",width=2,rows=1:");
  CHECK(two.tokens.shape[0] == 3);
  CHECK(two.tokens.data[0] == std::byte{2});
  CHECK(tokens("tokens:" + wide + ",width=4").tokens.shape[0] == 2);
  const std::string named = folder.write("wide.u32", std::string("\1\0\2\0\3\0\4\0", 8));
  CHECK(tokens("tokens:" + named).tokens.shape[0] == 2);
  CHECK(tokens("tokens:" + named + ",width=2").tokens.shape[0] == 4);
  CHECK(tokens("text:" + named).tokens.shape[0] == 8);
}

TEST_CASE("broken files of tokens are refused with a reason") {
  const ScratchFolder folder;
  const std::string odd = folder.write("odd", "abcdef");
  CHECK(complaint("tokens:" + odd + ",width=4") ==
        "run: " + odd + ": 6 bytes are not a whole number of tokens of 4 bytes");
  CHECK(complaint("tokens:" + odd) == "");
  const std::string empty = folder.write("empty", "");
  CHECK(complaint("text:" + empty) == "run: " + empty + ": the file is empty");
  CHECK(complaint("text:/nonexistent") ==
        "run: cannot read the data of input 'x' from '/nonexistent': No such file or directory");
  CHECK(complaint("text:/tmp") == "run: cannot read the data of input 'x' from '/tmp': not a regular file");
}

TEST_CASE("an array of NumPy is not read as tokens") {
  const ScratchFolder folder;
  const std::string array =
      folder.write("t.npy", npy_header({DType::kI32, {{"n", 2}}}) + std::string(8, 'x'));
  for (const char* kind : {"text:", "tokens:"})
    CHECK(
        complaint(kind + array) ==
        fmt::format("run: {0}: the file is an array of NumPy, whose header would be read as tokens (NumPy's "
                    "tofile() writes bare tokens; without a prefix, {0} gives its rows to the input)",
                    array));
}

TEST_CASE("tokens of four bytes are not read as tokens of two, unless the width is given") {
  const ScratchFolder folder;
  const auto file = [&](const std::string& name, int width, auto token) {
    std::string bytes;
    for (uint32_t i = 0; i < 64; ++i)
      for (int byte = 0; byte < width; ++byte) bytes += static_cast<char>(token(i) >> 8 * byte);
    return folder.write(name, bytes);
  };
  const auto small = [](uint32_t i) { return i; };
  const auto large = [](uint32_t i) { return i * 7919; };  // up to 498,897
  const auto alternating = [](uint32_t i) { return i % 2 == 0 ? i * 100 : uint32_t{17}; };
  for (const std::string& path : {file("small", 4, small), file("large", 4, large)}) {
    const std::string said = complaint("tokens:" + path);
    CHECK(said.find("tokens of 2 bytes are read from " + path + ", but its tokens seem to have 4") !=
          std::string::npos);
    CHECK(said.ends_with("(give width=4, or width=2 if that is right)"));
    CHECK(complaint("tokens:" + path + ",width=4") == "");
    CHECK(complaint("tokens:" + path + ",width=2") == "");
  }
  CHECK(complaint("tokens:" + file("two", 2, small)) == "");
  CHECK(complaint("tokens:" + file("two large", 2, large)) == "");
  CHECK(complaint("tokens:" + file("alternating", 2, alternating)) == "");
  CHECK(complaint("tokens:" + folder.write("zeros", std::string(256, '\0'))) == "");
}

TEST_CASE("compressed tokens are unpacked") {
  const ScratchFolder folder;
  const std::string path = write_gzip(folder, "t.gz", "some text");
  const TokenSource text = std::get<TokenSource>(read("text:" + path + ",rows=5:").source);
  CHECK(text.tokens.shape == std::vector<int64_t>{4});
  CHECK(std::string(reinterpret_cast<const char*>(text.tokens.data), 4) == "text");
  CHECK(complaint("tokens:" + path) ==
        "run: " + path + ": 9 bytes are not a whole number of tokens of 2 bytes");
  // gzip appends files to each other.
  const std::string two = folder.write("two.gz", contents(path) + contents(path));
  CHECK(std::get<TokenSource>(read("text:" + two).source).tokens.shape[0] == 18);
  CHECK(complaint("text:" + folder.write("short", "\x1F\x8B\x08")) == "");
}

TEST_CASE("files of a pattern follow each other in the order of their names") {
  const ScratchFolder folder;
  const auto array = [&](const std::string& name, DType dtype, int64_t rows, int64_t columns) {
    const TensorType type{dtype, {{"r", rows}, {"c", columns}}};
    return folder.write(
        name,
        npy_header(type) + std::string(static_cast<size_t>(elements(type.dims) * size_of(dtype)), name[5]));
  };
  array("part-2.npy", DType::kF32, 3, 2);
  array("part-1.npy", DType::kF32, 1, 2);
  array("part-3.npy", DType::kF32, 0, 2);
  const InputData data = read((folder / "part-*.npy") + ",rows=1:,scale=2");
  const StoredArray& whole = std::get<StoredArray>(data.source);
  CHECK(whole.shape == std::vector<int64_t>{4, 2});
  CHECK(whole.type == StoredType::kF32);
  CHECK(data.rows == std::pair<int64_t, int64_t>{1, 4});
  REQUIRE(whole.parts);
  REQUIRE(whole.parts->size() == 2);
  CHECK((*whole.parts)[0].array.file == folder / "part-1.npy");
  CHECK((*whole.parts)[1].begin == 2);
  CHECK((*whole.parts)[1].array.data[0] == std::byte{'2'});
  const StoredArray copy = contiguous(rows_of(whole, 0, 2));
  CHECK(copy.shape == std::vector<int64_t>{2, 2});
  CHECK(std::string(reinterpret_cast<const char*>(copy.data), 16) == "1111111122222222");
  folder.write("a.txt", "abc");
  folder.write("b.txt", "defg");
  const TokenSource text = std::get<TokenSource>(read("text:" + (folder / "?.txt") + ",rows=2:6").source);
  CHECK(text.first == 2);
  const StoredArray letters = contiguous(text.tokens);
  CHECK(std::string(reinterpret_cast<const char*>(letters.data), 4) == "cdef");
  // A file that is called so is meant.
  array("part-*.npy", DType::kI32, 1, 2);
  CHECK(std::get<StoredArray>(read(folder / "part-*.npy").source).type == StoredType::kI32);
  std::filesystem::remove(folder / "part-*.npy");
  array("part-4.npy", DType::kF32, 1, 3);
  CHECK(complaint(folder / "part-*.npy") == fmt::format("run: {}: its shape [1, 3] can't follow [1, 2] of {}",
                                                        folder / "part-4.npy", folder / "part-1.npy"));
  CHECK(complaint(folder / "none-*.npy") ==
        fmt::format("run: no file has a name like '{}'", folder / "none-*.npy"));
}

TEST_CASE("columns get the dimensions of the input") {
  const ScratchFolder folder;
  const std::string spec = "csv:" + folder.write("d,1.csv", "a,b 1,b 2,b 3,b 4\n1,2,3,4,5\n6,7,8,9,10\n");
  const auto shape = [&](const std::string& options, const Dims& dims) {
    const InputData data = read_input_data({"x", {}, {"--input", 0, 0, ""}, dims}, spec + options, kNames);
    return std::get<StoredArray>(data.source).shape;
  };
  const Dims pictures = {{"batch", 7}, {"rows", 2}, {"cols", 2}};
  CHECK(shape(",column=b*,scale=1/255", pictures) == std::vector<int64_t>{2, 2, 2});
  CHECK(shape(",column=a", {{"batch", 7}, {"one", 1}}) == std::vector<int64_t>{2, 1});
  CHECK(shape(",column=a,rows=1:", {{"batch", 7}}) == std::vector<int64_t>{2});
  CHECK(shape(",column=a+b 4", pictures) == std::vector<int64_t>{2, 2});
  const std::string lines = folder.write("d.jsonl", "{\"v\": [1, 2, 3, 4]}\n");
  CHECK(std::get<StoredArray>(
            read_input_data({"x", {}, {"--input", 0, 0, ""}, pictures}, "jsonl:" + lines + ",key=v", kNames)
                .source)
            .shape == std::vector<int64_t>{1, 2, 2});
}

TEST_CASE("a spec is checked against the dtype of its input, and without its file") {
  const auto said = [](const FedInput& input, const std::string& spec) -> std::string {
    try {
      check_data_spec(input, spec, kNames);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(said({"x", DType::kI32}, "random:normal") ==
        "--input: error: x=random:normal: this source gives fractions, but the input 'x' is i32 "
        "(random:int,hi=N gives whole numbers)");
  CHECK(
      said({"x", DType::kI64}, "random:int,hi=3,scale=0.5") ==
      "--input: error: x=random:int,hi=3,scale=0.5: a scale needs floating point, but the input 'x' is i64");
  CHECK(said({"x", DType::kI64}, "random:int,hi=3") == "");
  CHECK(said({"x", DType::kF64}, "random:normal") == "");
  CHECK(said({"x"}, "text:/nonexistent,rows=3:9,split=train") == "");
  CHECK(said({"x", {}, {"--valid", 0, 0, ""}}, "text:/nonexistent,rows=9:3") ==
        "--valid: error: x=text:/nonexistent,rows=9:3: rows=9:3 names no rows");
  CHECK(said({"x", {}, {"m.json", 3, 7, "/data/x"}}, "random:int,hi=0") ==
        "m.json:3:7: error: /data/x: no numbers lie in [0, 0)");
}

TEST_CASE("random whole numbers fit their input") {
  const auto said = [](std::optional<DType> dtype, const std::string& options) -> std::string {
    try {
      check_data_spec({"x", dtype, {"m.json", 3, 7, "/data/x"}}, "random:int," + options, kNames);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  const std::string at = "m.json:3:7: error: /data/x: ";
  CHECK(said(DType::kI32, "hi=3e9") ==
        at + "random:int draws from 0 to 2999999999 here, but the input 'x' is i32, "
             "which holds -2147483648 to 2147483647");
  CHECK(
      said(DType::kI32, "lo=-2147483649,hi=1") ==
      at +
          "random:int draws from -2147483649 to 0 here, but the input 'x' is i32, which holds -2147483648 to "
          "2147483647");
  CHECK(said(DType::kI32, "lo=-2147483648,hi=2147483648") == "");
  CHECK(said(DType::kBool, "hi=3") ==
        at + "random:int draws from 0 to 2 here, but the input 'x' is bool, which "
             "holds 0 to 1 (random:int,hi=2 draws both)");
  CHECK(said(DType::kBool, "lo=1,hi=2") == "");
  const std::string beyond = " is beyond 2^53, up to which random:int can draw every whole number";
  for (const std::optional<DType> dtype : {std::optional<DType>(), std::optional(DType::kI64),
                                           std::optional(DType::kF32), std::optional(DType::kF64)}) {
    CHECK(said(dtype, "lo=-3e9,hi=3e9") == "");
    CHECK(said(dtype, "lo=-9007199254740992,hi=9007199254740992") == "");
    CHECK(said(dtype, "hi=9007199254740993") == at + "hi=9007199254740993" + beyond);
    CHECK(said(dtype, "lo=-9007199254740993,hi=3") == at + "lo=-9007199254740993" + beyond);
    CHECK(said(dtype, "hi=1e300") == at + "hi=1e300" + beyond);
  }
}

TEST_CASE("random numbers are finite in their input") {
  const auto said = [](DType dtype, const std::string& spec) -> std::string {
    try {
      check_data_spec({"x", dtype, {"m.json", 3, 7, "/data/x"}}, spec, kNames);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  const std::string at = "m.json:3:7: error: /data/x: random numbers of up to ";
  CHECK(said(DType::kF32, "random:uniform,hi=1e39") == at + "1e+39 are beyond the range of f32");
  CHECK(said(DType::kF32, "random:normal,scale=1e38") == at + "1e+39 are beyond the range of f32");
  CHECK(said(DType::kF64, "random:uniform,lo=-1e308,hi=1e308") == at + "inf are beyond the range of f64");
  CHECK(said(DType::kF64, "random:normal,scale=1e38") == "");
  CHECK(said(DType::kF32, "random:uniform,lo=-1e38,hi=1e38") == "");
}

TEST_CASE("a file may have what looks like an option in its name") {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder.path / "run,lr=3");
  const std::string text = folder.write("run,lr=3/a,epoch=2,b.txt", "abcdefgh");
  const auto tokens = [](const std::string& spec) { return std::get<TokenSource>(read(spec).source); };
  CHECK(tokens("text:" + text).tokens.shape[0] == 8);
  CHECK(tokens("text:" + text + ",rows=2:,shift=1").first == 2);
  CHECK(tokens("tokens:" + text + ",width=4").tokens.shape[0] == 2);
  CHECK(read("idx:" + folder.write("run,lr=3/d,rows=1", kIdx) + ",rows=1:,scale=2").scale == 2);
  const std::string array =
      folder.write("run,lr=3/a,shift=1.npy", npy_header({DType::kF32, {{"a", 2}}}) + std::string(8, '\0'));
  CHECK(std::get<StoredArray>(read(array).source).shape == std::vector<int64_t>{2});
  CHECK(read(array + ",rows=1:").rows == std::pair<int64_t, int64_t>{1, 2});
  // A shorter name counts, so that no other file can change what a spec means.
  folder.write("t", "abc");
  folder.write("t,shift=1", "abcdef");
  CHECK(tokens("text:" + (folder / "t,shift=1")).tokens.shape[0] == 3);
  CHECK(tokens("text:" + (folder / "t,shift=1")).shift == 1);
  CHECK(complaint("text:" + (folder / "t,sift=1"))
            .ends_with("'sift' is not an option of this source (did you mean 'shift'?)"));
}

TEST_CASE("malformed specs are the user's") {
  const ScratchFolder scratch;
  const std::string plain = scratch.write("t.sh", "text");
  CHECK(complaint(plain) ==
        fmt::format(
            "--input: error: x={0}: unknown source '{0}' (name the kind of file: text:{0}, tokens:{0} or "
            "idx:{0}; an array ends in .npy)",
            plain));
  CHECK(complaint("random:normal,rows=1:2") ==
        "--input: error: x=random:normal,rows=1:2: random numbers never end, so 'rows' can't choose a range "
        "of them");
  CHECK(complaint("randm:normal") ==
        "--input: error: x=randm:normal: unknown source 'randm:normal' (did you mean 'random'?)");
  CHECK(complaint("x.csv") ==
        "--input: error: x=x.csv: unknown source 'x.csv' (csv:x.csv,column=NAME takes a column of it)");
  CHECK(complaint("x.tsv") ==
        "--input: error: x=x.tsv: unknown source 'x.tsv' (TSV is not read; in Python, numpy.save('x.npy', "
        "numpy.loadtxt('x.tsv', 'float32', delimiter='\\t')) makes an array of it: x.npy)");
  CHECK(complaint("csv:x.csv") ==
        "--input: error: x=csv:x.csv: the name of a column is missing (csv:x.csv,column=NAME takes a column, "
        "column=NAME+NAME several, and text=NAME the tokens of texts)");
  CHECK(complaint("csv:x.csv,column=a+").find("the name of a column is missing") != std::string::npos);
  CHECK(complaint("csv:x.csv,colum=a").ends_with("(did you mean 'column'?)"));
  CHECK(complaint("jsonl:x.jsonl") ==
        "--input: error: x=jsonl:x.jsonl: the key is missing (jsonl:x.jsonl,key=NAME takes the numbers of "
        "this key, and text=NAME the tokens of its texts)");
  CHECK(complaint("d/x.pt").ends_with(
      "(.pt files are not read; numpy.save('d/x.npy', array) stores one of its arrays)"));
  CHECK(complaint("x.bin") ==
        "--input: error: x=x.bin: unknown source 'x.bin' "
        "(expected FILE.npy, FILE.npz, csv:FILE, jsonl:FILE, images:FOLDER, labels:FOLDER, idx:FILE, "
        "text:FILE, lines:FILE, tokens:FILE, "
        "random:normal, random:uniform, "
        "random:int,hi=N, present or of:INPUT)");
  CHECK(complaint("presnt") == "--input: error: x=presnt: unknown source 'presnt' (did you mean 'present'?)");
  CHECK(complaint("present,scale=2") ==
        "--input: error: x=present,scale=2: 'scale' is not an option of this source");
  CHECK(std::holds_alternative<PresentRows>(read("present").source));
  CHECK(complaint("text:a,shift=-1") ==
        "--input: error: x=text:a,shift=-1: shift: '-1' is not a number of tokens");
  CHECK(complaint("text:a,split=test") ==
        "--input: error: x=text:a,split=test: unknown split 'test' (splits are train and valid)");
  CHECK(complaint("text:a,split=vald") ==
        "--input: error: x=text:a,split=vald: unknown split 'vald' (did you mean 'valid'?)");
  CHECK(complaint("text:a,width=2") ==
        "--input: error: x=text:a,width=2: 'width' is not an option of this source (options are tokenizer, "
        "shift, split, "
        "rows, "
        "scale)");
  CHECK(complaint("tokens:a,width=8") ==
        "--input: error: x=tokens:a,width=8: '8' is not a token width (2 or 4 bytes)");
  CHECK(complaint("text:") == "--input: error: x=text:: the name of the file is missing");
  CHECK(complaint("random:int") ==
        "--input: error: x=random:int: random:int needs 'hi' (numbers are drawn below it)");
  CHECK(complaint("random:int,hi=vocb") ==
        "--input: error: x=random:int,hi=vocb: hi=vocb: unknown param or dimension 'vocb' (did you mean "
        "'vocab'?)");
  CHECK(complaint("random:int,hi=0.5") ==
        "--input: error: x=random:int,hi=0.5: 'lo' and 'hi' of random:int must be whole numbers");
  CHECK(complaint("random:uniform,lo=2") ==
        "--input: error: x=random:uniform,lo=2: no numbers lie in [2, 1)");
  CHECK(complaint("random:normal,hi=2") ==
        "--input: error: x=random:normal,hi=2: 'hi' is not an option of this source (options are scale)");
  CHECK(complaint("a.npy,row=1:2") ==
        "--input: error: x=a.npy,row=1:2: 'row' is not an option of this source (did you mean 'rows'?)");
  CHECK(complaint("a.npy,scale=1,scale=2") ==
        "--input: error: x=a.npy,scale=1,scale=2: 'scale' is given twice");
  CHECK(complaint("idx:") == "--input: error: x=idx:: the name of the file is missing");
  const ScratchFolder folder;
  const std::string spec = "idx:" + folder.write("d", kIdx);
  CHECK(complaint(spec + ",rows=2").ends_with(": expected rows=A:B, found rows=2"));
  CHECK(complaint(spec + ",rows=2:2").ends_with(": rows=2:2 names no rows"));
  CHECK(complaint(spec + ",rows=0:4").ends_with("/d has 3 rows"));
  CHECK(complaint(spec + ",rows=-1:2").ends_with(": rows: '-1' is not a row number"));
}

}  // namespace mtfc::data_spec_test
