// Tokenizes many strings for scripts/bench/compare_tokenizers.mjs, which compares the result with that of other programs.
//
//   tokenize_strings tokenizer.json STRINGS RESULTS   for each string: its ids, their text, and that without special
//                                                     tokens; strings and lists begin with their lengths
//   tokenize_strings tokenizer.json TEXT              the time that tokenizing a whole text takes
//
// Times are those that the thread computes, however busy the machine is. Lengths and ids are little-endian integers of four bytes.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <exception>
#include <fstream>
#include <iterator>
#include <limits>
#include <span>
#include <string>

#include "formats/tokenizer/tokenizer.h"

namespace {

double now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::string contents(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(fmt::format("cannot read {}", path));
  return {std::istreambuf_iterator<char>(file), {}};
}

void append_number(std::string& bytes, uint32_t number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

void tokenize_strings(const mtfc::Tokenizer& tokenizer, const std::string& strings, const char* path) {
  std::string results;
  double encoding = 0, decoding = 0;
  for (size_t at = 0; at < strings.size();) {
    uint32_t size = 0;
    std::memcpy(&size, strings.data() + at, sizeof(size));
    at += sizeof(size);
    const std::string_view text(strings.data() + at, size);
    at += size;
    const double before = now();
    const std::vector<int32_t> ids = tokenizer.encode(text, mtfc::SpecialTokens::kAround);
    encoding += now() - before;
    append_number(results, static_cast<uint32_t>(ids.size()));
    for (const int32_t id : ids) append_number(results, static_cast<uint32_t>(id));
    for (const bool skips : {false, true}) {
      const double begin = now();
      const std::string decoded = tokenizer.decode(ids, skips);
      decoding += now() - begin;
      append_number(results, static_cast<uint32_t>(decoded.size()));
      results += decoded;
    }
  }
  std::ofstream(path, std::ios::binary) << results;
  fmt::print("encoded in {:.2f} s, decoded twice in {:.2f} s\n", encoding, decoding);
}

void time_text(const mtfc::Tokenizer& tokenizer, const std::string& text) {
  constexpr int kRuns = 5;
  double first = 0, least = std::numeric_limits<double>::infinity();
  size_t count = 0;
  for (int run = 0; run < kRuns; ++run) {
    const double begin = now();
    count = tokenizer.encode(text).size();
    const double seconds = now() - begin;
    if (run == 0) first = seconds;
    least = std::min(least, seconds);
  }
  const double megabytes = static_cast<double>(text.size()) / 1e6;
  fmt::print("{} ids, {:.1f} MB/s at first, {:.1f} MB/s later\n", count, megabytes / first,
             megabytes / least);
}

}  // namespace

int main(int count, char** words) {
  const std::span<char*> arguments(words, static_cast<size_t>(count));
  try {
    if (arguments.size() < 3) throw std::runtime_error("tokenize_strings tokenizer.json STRINGS [RESULTS]");
    const std::string json = contents(arguments[1]);
    const double begin = now();
    const auto tokenizer = mtfc::Tokenizer::from_file(json, arguments[1]);
    fmt::print("read in {:.2f} s, ", now() - begin);
    const std::string text = contents(arguments[2]);
    if (arguments.size() > 3)
      tokenize_strings(tokenizer, text, arguments[3]);
    else
      time_text(tokenizer, text);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
