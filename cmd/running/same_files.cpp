#include "cmd/running/same_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <set>

#include "cmd/files/included_files.h"
#include "cmd/running/run_header.h"
#include "core/tensors/random_bits.h"
#include "runtime/processes/job.h"
#include "runtime/processes/watchdog.h"

namespace mtfc {
namespace {

const StoredArray* array_of(const InputData& input) {
  const auto* tokens = std::get_if<TokenSource>(&input.source);
  return tokens ? &tokens->tokens : std::get_if<StoredArray>(&input.source);
}

const FileSample* file_of(const InputData& input) {
  const StoredArray* array = array_of(input);
  return array ? &array->sample : nullptr;
}

// Files, each of which is listed once.
struct FileList {
  std::vector<FileSample> files = {};
  std::set<std::string> known = {};
  void add(const FileSample& file) {
    if (known.insert(file.path).second) files.push_back(file);
  }
  void add(const std::vector<InputData>& inputs) {
    for (const InputData& input : inputs)
      if (const StoredArray* array = array_of(input)) add(*array);
  }
  // The files of a pattern are listed each by itself.
  void add(const StoredArray& array) {
    if (!array.parts) return add(array.sample);
    for (const ArrayPart& part : *array.parts) add(part.array.sample);
  }
  void add(const VariableValues& values) {
    for (const auto& [variable, array] : values) add(array);
  }
};

// The host of a rank and what it reads, as bytes to send.
struct RankFiles {
  std::string host;
  std::vector<FileSample> files;
};

std::string packed(const RankFiles& rank) {
  std::vector<std::string> texts = {rank.host};
  for (const FileSample& file : rank.files)
    texts.insert(texts.end(), {std::to_string(file.bytes), std::to_string(file.hash), file.path});
  return packed_texts(texts);
}

RankFiles unpacked(const std::string& bytes) {
  const std::vector<std::string> texts = unpacked_texts(bytes);
  RankFiles rank{texts.front(), {}};
  for (size_t i = 1; i + 2 < texts.size(); i += 3)
    rank.files.push_back({texts[i + 2], std::stoll(texts[i]), std::stoull(texts[i + 1])});
  return rank;
}

bool is_same(const FileSample& one, const FileSample& other) {
  return one.path == other.path && one.bytes == other.bytes && one.hash == other.hash;
}

// `ranks 1, 3 (hosts 'b', 'c')`
std::string ranks_and_hosts(const std::vector<int>& ranks, const std::vector<RankFiles>& all) {
  std::vector<std::string> hosts;
  for (const int rank : ranks) {
    const std::string host = fmt::format("'{}'", all[static_cast<size_t>(rank)].host);
    if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
  }
  return fmt::format("{} (host{} {})", rank_text(ranks), hosts.size() == 1 ? "" : "s",
                     fmt::join(hosts, ", "));
}

// Describes the first file of which some rank has another copy than rank 0; "" if there is none.
std::string difference(const std::vector<RankFiles>& all) {
  const RankFiles& first = all.front();
  size_t most = 0;
  for (const RankFiles& rank : all) most = std::max(most, rank.files.size());
  for (size_t i = 0; i < most; ++i) {
    const auto file = [&](const RankFiles& rank) {
      return i < rank.files.size() ? rank.files[i] : FileSample{};
    };
    const FileSample expected = file(first);
    const auto other = std::find_if(all.begin(), all.end(),
                                    [&](const RankFiles& rank) { return !is_same(file(rank), expected); });
    if (other == all.end()) continue;
    const FileSample found = file(*other);
    std::vector<int> ranks;
    for (size_t rank = 0; rank < all.size(); ++rank)
      if (is_same(file(all[rank]), found)) ranks.push_back(static_cast<int>(rank));
    const std::string here = ranks_and_hosts({0}, all), there = ranks_and_hosts(ranks, all);
    if (found.path != expected.path)
      return fmt::format("the ranks read different files: '{}' on {}, but '{}' on {}", expected.path, here,
                         found.path, there);
    if (found.bytes != expected.bytes)
      return fmt::format("the ranks read different copies of '{}': it has {} bytes on {}, but {} on {}",
                         expected.path, expected.bytes, here, found.bytes, there);
    return fmt::format("the ranks read different copies of '{}': its contents on {} differ from those on {}",
                       expected.path, there, here);
  }
  return "";
}

}  // namespace

std::vector<FileSample> files_of(const VariableValues& values) {
  FileList list;
  list.add(values);
  return list.files;
}

std::vector<FileSample> files_of(const std::vector<InputData>& inputs) {
  FileList list;
  list.add(inputs);
  return list.files;
}

std::vector<FileSample> files_of(const RunData& data) {
  FileList list;
  list.add(data.inputs);
  list.add(data.valid);
  if (data.start) {
    const std::string notes = checkpoint_json(*data.start);
    list.add({data.checkpoint + "/" + kNotesName, static_cast<int64_t>(notes.size()), hash_bytes(notes)});
  }
  list.add(data.values);
  return list.files;
}

std::map<std::string, FileSample> input_files(const std::vector<InputData>& inputs) {
  std::map<std::string, FileSample> files;
  for (const InputData& input : inputs)
    if (const FileSample* file = file_of(input)) files[input.input] = *file;
  return files;
}

void require_same_files(Processes& processes, const std::vector<FileSample>& files) {
  if (processes.size() == 1) return;
  std::vector<RankFiles> all;
  for (const std::string& bytes : processes.gather(packed({host_name(), files})))
    all.push_back(unpacked(bytes));
  std::string error = processes.is_root() ? difference(all) : "";
  processes.broadcast(error);
  if (!error.empty()) throw AgreedError(error);
}

void warn_of_changed_files(const RunData& data, const std::vector<std::string>& given) {
  if (!data.start) return;
  for (const auto& [input, now] : input_files(data.inputs)) {
    const auto at = data.start->files.find(input);
    if (at == data.start->files.end()) continue;
    const FileSample& before = at->second;
    if (before.bytes == now.bytes && before.hash == now.hash) continue;
    const std::string what = before.bytes != now.bytes
                                 ? fmt::format("'{}' has {} bytes, but '{}' was made with {} bytes", now.path,
                                               now.bytes, data.checkpoint, before.bytes)
                                 : fmt::format("the contents of '{}' are not those that '{}' was made with",
                                               now.path, data.checkpoint);
    std::cerr << fmt::format("mtfc: warning: the data of the input '{}' have changed: {}{}\n", input, what,
                             before.path == now.path ? "" : fmt::format(" of '{}'", before.path));
  }
  for (const InputData& input : data.inputs) {
    const auto before = data.start->files.find(input.input);
    if (before == data.start->files.end() || file_of(input) || is_given(input.input, given)) continue;
    std::cerr << fmt::format(
        "mtfc: warning: the data of the input '{}' have changed: they are the model's own, {}, but '{}' was "
        "made with '{}' (give it again with --input)\n",
        input.input, input.spec, data.checkpoint, before->second.path);
  }
}

}  // namespace mtfc
