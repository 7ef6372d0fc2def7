// Data files with mistakes, thousands of them, through the readers: each is read or refused with a RunError,
// soon, and without more memory than the file can fill. MTFC_CASES, MTFC_SEED and MTFC_DUMP as in
// input_fuzz_test.cpp.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/data.h"
#include "core/error.h"
#include "formats/data_spec.h"
#include "formats/fuzz_guard_trial.h"
#include "formats/mutation_trial.h"
#include "formats/npy.h"

namespace mtfc {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kCases = 5000;

// A good file and how it is named as a source.
struct SeedFile {
  std::string prefix;  // "", "idx:"
  std::string ending;  // ".npy", or "" for IDX
  std::string bytes;
};

std::string gzipped(const std::string& bytes) {
  std::string packed(compressBound(bytes.size()) + 64, '\0');
  z_stream stream = {};
  constexpr int kGzip = 16;
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzip, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string idx_header(char type, const std::vector<uint32_t>& shape) {
  std::string header = std::string(2, '\0') + type + static_cast<char>(shape.size());
  for (const uint32_t size : shape)
    for (const int shift : {24, 16, 8, 0}) header += static_cast<char>(size >> shift & 0xFF);
  return header;
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

std::string made_file(const SeedFile& seed, Mutator& mutator) {
  if (mutator.chance(5) || seed.bytes.empty()) return seed.bytes;
  // Digits and sizes in the header decide most.
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

// A file in memory under names that end as wanted: writing to a disk would take most of the time.
class MemoryFile {
 public:
  MemoryFile() : folder_(fs::temp_directory_path() / fmt::format("mtfc_data_fuzz.{}", getpid())) {
    fs::create_directories(folder_);
    for (const char* ending : {".npy", ".idx", ".txt", ".bin"})
      fs::create_symlink(fmt::format("/proc/self/fd/{}", number_), path(ending));
  }
  ~MemoryFile() {
    fs::remove_all(folder_);
    close(number_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path(const std::string& ending) const { return (folder_ / ("case" + ending)).string(); }
  void fill(const std::string& bytes) const {
    REQUIRE(ftruncate(number_, 0) == 0);
    REQUIRE(pwrite(number_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  }

 private:
  fs::path folder_;
  int number_ = memfd_create("fuzz", 0);
};

int64_t setting(const char* name, int64_t fallback) {
  const char* text = std::getenv(name);
  return text ? std::atoll(text) : fallback;
}

// Reads every byte that the array claims to have.
uint64_t sum_of(const StoredArray& array) {
  int64_t bytes = size_of(array.type);
  for (const int64_t size : array.shape) bytes = size == 0 ? 0 : bytes * size;
  uint64_t sum = 0;
  for (int64_t i = 0; i < bytes; ++i) sum += std::to_integer<uint64_t>(array.data[i]);
  return sum;
}

// "" where the file was read or refused as it should be.
std::string problem_with(const std::string& spec, bool& read) {
  try {
    const InputData data = read_input_data({"x"}, spec, {});
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

}  // namespace

TEST_CASE("mutants of sources are taken apart or refused as the user's") {
  const int64_t cases = setting("MTFC_CASES", kCases), first = setting("MTFC_SEED", 1);
  const std::vector<std::string> sources = {
      "random:normal,scale=1/255", "random:uniform,lo=-1,hi=1/2", "random:int,lo=0,hi=min(vocab, 50)",
      "/none.npy,rows=0:vocab",    "idx:/none,rows=1:,scale=2",   "text:/none,shift=1,split=train"};
  const NameLookup lookup = lookup_of(Dims{{"vocab", 100}});
  const Vocabulary none;
  int64_t accepted = 0;
  const FuzzGuard guard;
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
    } catch (const RunError& error) {  // the file is not there
      CHECK(std::string(error.what()).find('\n') == std::string::npos);
    }
  }
  CHECK(accepted > cases / 50);
}

TEST_CASE("mutants of data files are read or refused with a message") {
  const int64_t cases = setting("MTFC_CASES", kCases), first = setting("MTFC_SEED", 1);
  const char* dump = std::getenv("MTFC_DUMP");
  const std::vector<SeedFile> seeds = seed_files();
  const MemoryFile file;
  const Vocabulary none;
  int64_t read = 0, failed = 0;
  const FuzzGuard guard;
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
    const std::string problem = problem_with(good.prefix + file.path(ending), is_read);
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

}  // namespace mtfc
