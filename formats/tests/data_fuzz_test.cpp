// Runs thousands of data files with mistakes through the readers: each must be read or refused with a
// RunError, quickly, and without more memory than the file can fill. MTFC_CASES, MTFC_SEED and MTFC_DUMP are
// as in input_fuzz_test.cpp.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/diagnostics/error.h"
#include "core/tensors/data.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/settings.h"
#include "formats/data/data_spec.h"
#include "formats/data/npy.h"
#include "formats/data/safetensors.h"
#include "formats/testing/fuzz_guard.h"
#include "formats/testing/mutation.h"
#include "formats/testing/png_bytes.h"
#include "formats/testing/zip_bytes.h"

namespace mtfc::data_fuzz_test {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kCases = 5000;

// A good file and its form as a source.
struct SeedFile {
  std::string prefix;  // "", "idx:"
  std::string ending;  // ".npy", ".safetensors" (not a source, but loaded), or "" for IDX
  std::string bytes;
  std::string options = "";  // that follow the name of the file
};

std::string gzipped(const std::string& bytes) {
  constexpr int kGzip = 16;
  return deflated_bytes(bytes, MAX_WBITS + kGzip);
}

std::string idx_header(char type, const std::vector<uint32_t>& shape) {
  std::string header = std::string(2, '\0') + type + static_cast<char>(shape.size());
  for (const uint32_t size : shape)
    for (const int shift : {24, 16, 8, 0}) header += static_cast<char>(size >> shift & 0xFF);
  return header;
}

std::string length_bytes(uint64_t length) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(length >> 8 * i & 0xFF);
  return bytes;
}

std::vector<SeedFile> safetensors_files() {
  std::vector<SeedFile> files;
  const std::vector<TensorPlace> two = {{"w", StoredType::kF32, {2, 5}}, {"step", StoredType::kI64, {}}};
  std::vector<TensorPlace> many = {{"none", StoredType::kBool, {0}}};
  for (int i = 0; i < 40; ++i) many.push_back({fmt::format("layer_{}/w", i), StoredType::kF32, {2, 5}});
  for (const std::vector<TensorPlace>& tensors : {std::vector<TensorPlace>{}, two, two, many}) {
    const SafetensorsPlan plan = plan_safetensors(tensors, {{"format", "mtfc"}});
    std::string bytes = plan.header;
    bytes.resize(static_cast<size_t>(plan.file_bytes), '\1');
    files.push_back({"", ".safetensors", bytes});
  }
  const std::string nested(5000, '[');
  files.push_back({"", ".safetensors", length_bytes(uint64_t{1} << 60) + "{}"});
  files.push_back({"", ".safetensors", length_bytes(nested.size() + 6) + "{\"w\":" + nested + "}"});
  return files;
}

// Arrays that are packed, one by one or in an archive.
std::vector<SeedFile> packed_files() {
  std::vector<SeedFile> files;
  const std::string array = npy_header({DType::kF32, {{"a", 30}}}) + std::string(120, '\1');
  for (const bool packed : {false, true}) {
    files.push_back({"", ".npz", zip_bytes({{"x.npy", array}}, packed)});
    files.push_back({"", ".npz", zip_bytes({{"x.npy", array}, {"y.npy", array}}, packed)});
  }
  files.push_back({"", ".npy.gz", gzipped(array)});
  files.push_back({"", ".npy.gz", gzipped(array) + gzipped(std::string(1000, 'x'))});
  files.push_back({"text:", ".txt", gzipped(std::string(100000, 'x'))});
  return files;
}

// Tables as text.
std::vector<SeedFile> table_files() {
  std::vector<SeedFile> files;
  std::string csv = "name,x,\"y, \"\"z\"\"\"\r\n";
  std::string jsonl;
  for (int i = 0; i < 30; ++i) {
    csv += fmt::format("\"n {0}\",{0},{0}e-3\r\n", i);
    jsonl += fmt::format("{{\"name\": \"n\", \"x\": [{}, 1.5, true]}}\n", i);
  }
  files.push_back({"csv:", ".csv", csv, ",column=x"});
  files.push_back({"csv:", ".csv", csv, ",column=*"});
  files.push_back({"csv:", ".csv", gzipped(csv), ",column=x"});
  files.push_back({"csv:", ".csv", "x\n" + std::string(20000, '1') + "\n\"", ",column=x"});
  files.push_back({"jsonl:", ".jsonl", "{\"x\": 1}\n{\"x\": 2.5}\n", ",key=x"});
  files.push_back({"jsonl:", ".jsonl", "{\"x\": [[1, 2], [3, 4]]}\n{\"x\": [[1, 2], [3, -4]]}\n", ",key=x"});
  files.push_back({"jsonl:", ".jsonl", jsonl, ",key=x"});
  files.push_back(
      {"jsonl:", ".jsonl", "{\"x\": " + std::string(5000, '[') + std::string(5000, ']') + "}", ",key=x"});
  return files;
}

// Texts that become tokens, by bytes and by a tokenizer.
std::vector<SeedFile> text_files(const std::string& tokenizer) {
  std::vector<SeedFile> files;
  std::string lines, csv = "q,a\n", jsonl;
  for (int i = 0; i < 30; ++i) {
    lines += fmt::format("to be {}, or not\r\n", i);
    csv += fmt::format("\"to \"\"be\"\" {}\",or not\n", i);
    jsonl += fmt::format("{{\"q\": \"to be {}\\u00e9\", \"a\": \"or not\"}}\n", i);
  }
  for (const std::string& by : {std::string(), ",tokenizer=" + tokenizer + ",special=yes,end=<e>"})
    for (const char* rows : {",long=cut", ",pack=yes,long=split"}) {
      files.push_back({"lines:", ".txt", lines, rows + by});
      files.push_back({"lines:", ".txt", gzipped(lines), rows + by});
      files.push_back({"csv:", ".csv", csv, ",text=q,answer=a" + (rows + by)});
      files.push_back({"jsonl:", ".jsonl", jsonl, ",text=q,answer=a" + (rows + by)});
    }
  files.push_back({"text:", ".txt", lines + "<e>\xf0\x9f\x98", ",tokenizer=" + tokenizer});
  return files;
}

// Images of 3 x 2 pixels, each the only one in its folder.
std::vector<SeedFile> image_files() {
  std::vector<SeedFile> files;
  files.push_back({"images:", ".png", png_bytes(3, 2, kGreyPng, "abcdef")});
  files.push_back({"images:", ".png", png_bytes(3, 2, kColourPng, std::string(18, 'x'))});
  files.push_back({"images:", ".png", png_bytes(3, 2, kTransparentPng, std::string(24, 'x'))});
  files.push_back({"images:", ".png", png_bytes(30000, 30000, kGreyPng, "")});
  for (const char* name : {"grey", "red", "print"})
    files.push_back(
        {"images:", ".png", contents(fmt::format("{}/testdata/images/{}.jpg", kSourceFolder, name))});
  return files;
}

std::vector<SeedFile> seed_files() {
  std::vector<SeedFile> files;
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kI32, DType::kI64, DType::kBool})
    for (const Dims& dims : {Dims{}, Dims{{"a", 3}}, Dims{{"a", 2}, {"b", 5}, {"c", 1}}, Dims{{"a", 1000}}})
      files.push_back({"", ".npy",
                       npy_header({dtype, dims}) +
                           std::string(static_cast<size_t>(elements(dims) * size_of(dtype)), '\1')});
  const auto version_two = [](const std::string& dictionary) {
    return std::string("\x93NUMPY\x02\0", 8) + static_cast<char>(dictionary.size()) + std::string(3, '\0') +
           dictionary;
  };
  files.push_back(
      {"", ".npy", version_two("{'shape': (2L, 2), 'fortran_order': False, 'descr': '>i2'}") + "abcdefgh"});
  files.push_back(
      {"", ".npy", version_two("{'shape': (1152921504606846976,), 'fortran_order': False, 'descr': '|u1'}")});
  for (const auto& [type, size] :
       {std::pair('\x08', 1), {'\x09', 1}, {'\x0B', 2}, {'\x0C', 4}, {'\x0D', 4}, {'\x0E', 8}})
    for (const bool packed : {false, true}) {
      const std::string bytes = idx_header(type, {3, 4}) + std::string(static_cast<size_t>(12 * size), '\2');
      files.push_back({"idx:", "", packed ? gzipped(bytes) : bytes});
    }
  std::string text = "to be, or not to be: ";
  for (int i = 0; i < 6; ++i) text += text;
  files.push_back({"text:", ".txt", text});
  files.push_back({"text:", ".txt", "é\xff\n"});
  files.push_back({"text:", ".txt", ""});
  files.push_back({"tokens:", ".bin", text});
  files.push_back({"tokens:", ".bin", "abc"});
  const std::string huge = idx_header('\x0E', {1u << 31, 1u << 28});
  files.push_back({"idx:", "", huge});
  files.push_back({"idx:", "", gzipped(huge + std::string(100000, '\0'))});
  return files;
}

// Makes a mistake in the header but keeps its length right, so that the code after the length check is tested
// too.
std::string with_header_mistake(const std::string& bytes, Mutator& mutator) {
  constexpr size_t kLength = 8;
  if (bytes.size() < kLength) return bytes;
  size_t length = 0;
  for (size_t i = 0; i < kLength; ++i) length |= static_cast<size_t>(static_cast<uint8_t>(bytes[i])) << 8 * i;
  if (length > bytes.size() - kLength) return bytes;
  std::string header = bytes.substr(kLength, length);
  const size_t at = header.find_first_of("0123456789", mutator.pick(header.size() + 1));
  if (at != std::string::npos && mutator.chance(60)) {
    const size_t end = header.find_first_not_of("0123456789", at);
    header.replace(at, end == std::string::npos ? end : end - at,
                   mutator.one_of(std::vector<std::string>{
                       "0", "1", "4", "8", "40", "-1", "1.5", "1e3", "4294967296", "4611686018427387904",
                       "9223372036854775807", "18446744073709551615", "1e400", "[]", "null", "{}"}));
  } else {
    header = mutator.mutated_bytes(header, 3);
  }
  return length_bytes(header.size()) + header + bytes.substr(kLength + length);
}

std::string made_file(const SeedFile& seed, Mutator& mutator) {
  if (seed.ending == ".safetensors" && mutator.chance(60)) return with_header_mistake(seed.bytes, mutator);
  if (mutator.chance(5) || seed.bytes.empty()) return seed.bytes;
  // Digits and sizes in the header matter most.
  std::string bytes = seed.bytes;
  if (mutator.chance(30)) {
    for (size_t i = mutator.pick(3) + 1; i > 0; --i) {
      const size_t at = mutator.pick(std::min<size_t>(bytes.size(), 128));
      bytes[at] =
          mutator.one_of(std::vector<char>{'\0', '\1', '\x7f', '\xff', '\x80', '9', '(', ',', ' ', '\''});
    }
    return bytes;
  }
  if (mutator.chance(10)) return bytes.substr(0, mutator.pick(bytes.size()));
  return mutator.mutated_bytes(bytes, 6);
}

// A file in memory under names with the wanted endings: writing to a disk would take most of the time.
class MemoryFile {
 public:
  MemoryFile() : folder_(fs::temp_directory_path() / fmt::format("mtfc_data_fuzz.{}", getpid())) {
    fs::create_directories(folder_);
    for (const char* ending :
         {".npy", ".npy.gz", ".npz", ".idx", ".txt", ".bin", ".csv", ".jsonl", ".safetensors"})
      fs::create_symlink(fmt::format("/proc/self/fd/{}", number_), path(ending));
    fs::create_directory(folder());
    fs::create_symlink(fmt::format("/proc/self/fd/{}", number_), folder() + "/case.png");
  }
  ~MemoryFile() {
    fs::remove_all(folder_);
    close(number_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path(const std::string& ending) const { return (folder_ / ("case" + ending)).string(); }
  /// A folder that has the file as an image.
  std::string folder() const { return (folder_ / "images").string(); }
  void fill(const std::string& bytes) const {
    REQUIRE(ftruncate(number_, 0) == 0);
    REQUIRE(pwrite(number_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  }

 private:
  fs::path folder_;
  int number_ = memfd_create("fuzz", 0);
};

// Reads every byte that the array claims to have.
uint64_t sum_of(const StoredArray& array) {
  int64_t bytes = size_of(array.type);
  for (const int64_t size : array.shape) bytes = size == 0 ? 0 : bytes * size;
  uint64_t sum = 0;
  for (int64_t i = 0; i < bytes; ++i) sum += std::to_integer<uint64_t>(array.data[i]);
  return sum;
}

// The input, which images must fit.
const Dims kInput = {{"batch", 1}, {"height", 2}, {"width", 3}, {"channels", 3}};

// Returns "" if the file was properly read or refused.
std::string problem_with(const std::string& spec, bool& read) {
  try {
    if (spec.ends_with(".safetensors")) {
      for (const auto& [name, array] : read_safetensors(spec).tensors) read = sum_of(array) < UINT64_MAX;
      return "";
    }
    const InputData data = read_input_data({"x", {}, {"--input", 0, 0, ""}, kInput}, spec, {});
    if (const auto* array = std::get_if<StoredArray>(&data.source)) read = sum_of(*array) < UINT64_MAX;
  } catch (const RunError& error) {
    const std::string text = error.what();
    if (text.find('\n') != std::string::npos) return "a message of several lines";
  } catch (const UserError& error) {
    const std::string text = error.what();
    return text.ends_with("is not supported by this version of mtfc") ? "" : text;
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

void try_files(const std::vector<SeedFile>& seeds) {
  const int64_t cases = setting("MTFC_CASES", kCases), first = first_seed();
  const char* dump = std::getenv("MTFC_DUMP");
  const MemoryFile file;
  const Vocabulary none;
  int64_t read = 0, failed = 0;
  FuzzGuard guard;
  for (int64_t i = 0; i < cases && failed < 5; ++i) {
    const auto seed = static_cast<uint64_t>(first + i);
    Mutator mutator(seed, none);
    const SeedFile& good = mutator.one_of(seeds);
    const std::string ending = good.ending.empty() ? ".idx" : good.ending;
    const std::string bytes = made_file(good, mutator);
    if (dump) {
      std::ofstream(fmt::format("{}/{}{}", dump, seed, ending), std::ios::binary) << bytes;
      continue;
    }
    file.fill(bytes);
    guard.watch(seed);
    bool is_read = false;
    const std::string problem = problem_with(
        good.prefix + (good.prefix == "images:" ? file.folder() : file.path(ending)) + good.options, is_read);
    read += is_read;
    if (problem.empty()) continue;
    ++failed;
    const std::string kept = fmt::format("mtfc_fuzz_{}{}", seed, ending);
    std::ofstream(kept, std::ios::binary) << bytes;
    FAIL_CHECK(fmt::format("seed {}: {} (kept as {})", seed, problem, kept));
  }
  MESSAGE(fmt::format("{} cases from seed {}: {} read", cases, first, read));
  CHECK(failed == 0);
  if (!dump) CHECK(read > cases / 50);
}

}  // namespace

TEST_CASE("mutants of sources are taken apart or refused as the user's") {
  const int64_t cases = setting("MTFC_CASES", kCases), first = first_seed();
  const std::vector<std::string> sources = {"random:normal,scale=1/255",
                                            "random:uniform,lo=-1,hi=1/2",
                                            "random:int,lo=0,hi=min(vocab, 50)",
                                            "/none.npy,rows=0:vocab",
                                            "idx:/none,rows=1:,scale=2",
                                            "text:/none,shift=1,split=train",
                                            "/none.npz,array=x,rows=:3",
                                            "/none-*.npy.gz",
                                            "csv:/none,column=a+b*",
                                            "jsonl:/none,key=x,scale=2",
                                            "jsonl:/none,text=x,answer=y,pack=yes,long=split,end=3",
                                            "lines:/none,tokenizer=/none,special=yes,pad=1,split=valid",
                                            "of:tokens,part=mask,shift=1"};
  const NameLookup lookup = lookup_of(Dims{{"vocab", 100}});
  const Vocabulary none;
  int64_t accepted = 0;
  FuzzGuard guard;
  for (int64_t i = 0; i < cases; ++i) {
    const auto seed = static_cast<uint64_t>(first + i);
    guard.watch(seed);
    Mutator mutator(seed, none);
    const std::string source = mutator.mutated_bytes(mutator.one_of(sources), 3);
    CAPTURE(seed);
    CAPTURE(source);
    try {
      read_input_data({"x"}, source, lookup);
      ++accepted;
    } catch (const UserError& error) {
      CHECK(std::string(error.what()).find('\n') == std::string::npos);
    } catch (const RunError& error) {  // the file does not exist
      CHECK(std::string(error.what()).find('\n') == std::string::npos);
    }
  }
  CHECK(accepted > cases / 100);  // most name files that do not exist
}

TEST_CASE("mutants of data files are read or refused with a message") {
  try_files(seed_files());
}

TEST_CASE("mutants of packed files are read or refused with a message") {
  try_files(packed_files());
}

TEST_CASE("mutants of images are read or refused with a message") {
  try_files(image_files());
}

TEST_CASE("mutants of tables are read or refused with a message") {
  try_files(table_files());
}

TEST_CASE("mutants of texts become tokens or are refused with a message") {
  const ScratchFolder folder;
  try_files(text_files(folder.write(
      "tokenizer.json", R"({"model": {"type": "BPE", "merges": [["t", "o"]], "byte_fallback": true,
        "vocab": {"t": 0, "o": 1, "to": 2, "b": 3, "e": 4, " ": 5, "<e>": 6, "<0xC3>": 7, "<0xA9>": 8}},
        "added_tokens": [{"id": 6, "content": "<e>", "special": true}]})")));
}

TEST_CASE("mutants of .safetensors files are read or refused with a message") {
  try_files(safetensors_files());
}

}  // namespace mtfc::data_fuzz_test
