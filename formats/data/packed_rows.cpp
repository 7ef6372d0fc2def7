#include "formats/data/packed_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <span>
#include <thread>

#include "core/diagnostics/error.h"
#include "core/diagnostics/parallel.h"
#include "core/diagnostics/progress.h"
#include "core/tensors/random_bits.h"
#include "formats/data/joined_array.h"
#include "formats/tokenizer/tokenizer_file.h"

namespace mtfc {
namespace {

constexpr size_t kOpenRows = 64;  // rows that later documents may still be put into
constexpr size_t kChunk = 256;    // documents that a thread takes at once

// The tokens of a document, of which those from `answer` on count.
struct DocumentTokens {
  std::vector<int32_t> ids;
  size_t answer = 0;
};

// Calls `work` for every index below `count`, on all cores.
void for_each_index(size_t count, const std::function<void(size_t)>& work) {
  const size_t chunks = (count + kChunk - 1) / kChunk;
  each_in_parallel(chunks, std::thread::hardware_concurrency(), [&](size_t chunk) {
    const size_t begin = chunk * kChunk;
    for (size_t i = begin; i < std::min(count, begin + kChunk); ++i) work(i);
    tell_progress({"making tokens", static_cast<int64_t>(begin), static_cast<int64_t>(count), "texts"});
  });
}

// A token by its name, or by its id.
int32_t token_named(const std::string& name, const char* option, const NamedTokenizer* tokenizer) {
  if (tokenizer)
    if (const auto id = tokenizer->tokenizer->id(name)) return *id;
  int32_t id = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
  if (error == std::errc() && end == name.data() + name.size() && id >= 0) return id;
  throw UserError(
      tokenizer ? fmt::format("{}={}: the tokenizer '{}' has no such token", option, name, tokenizer->file)
                : fmt::format("{}={}: without a tokenizer, a token is an id", option, name),
      tokenizer ? "" : "give the source its tokenizer=FILE.json|FOLDER");
}

class RowMaker {
 public:
  RowMaker(const DocumentSource& source, const NamedTokenizer* tokenizer, int64_t length)
      : source_(source), tokenizer_(tokenizer), length_(static_cast<size_t>(length)) {
    rows_.file = source.file;
    rows_.length = length;
    rows_.pad = token_named(source.pad, "pad", tokenizer);
    if (!source.end.empty()) end_ = token_named(source.end, "end", tokenizer);
  }

  TokenRows make() {
    read_files();
    select();
    std::vector<DocumentTokens> tokens(documents_.size());
    for_each_index(documents_.size(), [&](size_t i) { tokens[i] = tokens_of(documents_[i].document); });
    for (size_t i = 0; i < tokens.size(); ++i) add(tokens[i], documents_[i]);
    if (rows_.tokens.empty()) throw RunError(fmt::format("{}: its texts have no tokens", rows_.file));
    return std::move(rows_);
  }

 private:
  struct Located {
    Document document;
    size_t file;
  };

  void read_files() {
    rows_.sample = {source_.file, 0, 0};
    files_ = files_of_pattern(source_.file);
    for (size_t i = 0; i < files_.size(); ++i) {
      const DataFile file = open_data_file(files_[i]);
      rows_.sample.bytes += file.sample.bytes;
      rows_.sample.hash = files_.size() == 1
                              ? file.sample.hash
                              : mixed(rows_.sample.hash ^ file.sample.hash ^ hash_bytes(file.sample.path));
      for (Document& document : read_documents(file, source_.kind, source_.text, source_.answer))
        documents_.push_back({std::move(document), i});
    }
    if (tokenizer_) rows_.sample.hash = mixed(rows_.sample.hash ^ tokenizer_->hash);
  }

  void select() {
    const auto available = static_cast<int64_t>(documents_.size());
    const int64_t stated = source_.last == INT64_MAX ? available : source_.last;
    if (stated > available || source_.first >= stated)
      throw UserError(fmt::format("rows={}:{} are not rows of '{}', which has {}", source_.first,
                                  source_.last == INT64_MAX ? "" : std::to_string(source_.last), source_.file,
                                  available));
    int64_t first = source_.first, last = stated;
    if (source_.held_out > 0)
      (source_.takes_held_out ? first : last) = last - (last - first) / source_.held_out;
    if (first == last)
      throw UserError(
          fmt::format("split=valid is empty: '{}' has {} texts", source_.file, stated - source_.first),
          fmt::format("it takes one in {}", source_.held_out));
    documents_.erase(documents_.begin() + last, documents_.end());
    documents_.erase(documents_.begin(), documents_.begin() + first);
    size_t bytes = 0;
    for (const Located& located : documents_)
      bytes += located.document.text.size() + located.document.answer.size();
    if (tokenizer_) check_text_size(source_.file, bytes, *tokenizer_);
  }

  DocumentTokens tokens_of(const Document& document) const {
    DocumentTokens tokens;
    const auto add = [&](std::span<const int32_t> ids) {
      tokens.ids.insert(tokens.ids.end(), ids.begin(), ids.end());
    };
    const auto add_bytes = [&](const std::string& text) {
      for (const char c : text) tokens.ids.push_back(static_cast<unsigned char>(c));
    };
    const Tokenizer* tokenizer = tokenizer_ ? tokenizer_->tokenizer.get() : nullptr;
    if (tokenizer && source_.special) add(tokenizer->ids_before());
    if (tokenizer)
      add(tokenizer->encode(document.text));
    else
      add_bytes(document.text);
    if (!source_.answer.empty()) {
      tokens.answer = tokens.ids.size();
      if (tokenizer)
        add(tokenizer->encode_rest(document.answer));
      else
        add_bytes(document.answer);
    }
    if (tokenizer && source_.special) add(tokenizer->ids_after());
    if (end_) tokens.ids.push_back(*end_);
    return tokens;
  }

  // Documents are put into the first row that has room, and one of their own if they are not packed.
  void add(DocumentTokens& tokens, const Located& from) {
    const size_t size = tokens.ids.size();
    if (size > length_ && source_.longer == LongDocument::kRefused)
      throw UserError(fmt::format("{}:{}: the text has {} tokens, more than the {} of a row",
                                  files_[from.file], from.document.line, size, length_),
                      source_.packs ? "long=split goes on in the next row, and long=cut leaves out the rest"
                                    : "long=cut leaves out the rest");
    const size_t used = source_.longer == LongDocument::kSplit ? size : std::min(size, length_);
    for (size_t begin = 0; begin < used || (used == 0 && begin == 0 && !source_.packs); begin += length_) {
      const size_t count = std::min(length_, used - begin);
      put(tokens, begin, count, source_.packs ? row_with_room(count) : new_row());
    }
  }

  size_t new_row() {
    fill_.push_back(0);
    segments_.push_back(0);
    const size_t size = fill_.size() * length_;
    rows_.tokens.resize(size, rows_.pad);
    rows_.segments.resize(size, 0);
    rows_.counts.resize(size, 0);
    return fill_.size() - 1;
  }

  size_t row_with_room(size_t count) {
    for (size_t i = 0; i < open_.size(); ++i)
      if (length_ - fill_[open_[i]] >= count) return open_[i];
    // The fullest row gives way to a new one.
    if (open_.size() == kOpenRows)
      open_.erase(std::max_element(open_.begin(), open_.end(),
                                   [&](size_t one, size_t other) { return fill_[one] < fill_[other]; }));
    open_.push_back(new_row());
    return open_.back();
  }

  void put(const DocumentTokens& tokens, size_t begin, size_t count, size_t row) {
    const size_t at = row * length_ + fill_[row];
    if (count > 0) ++segments_[row];
    for (size_t i = 0; i < count; ++i) {
      rows_.tokens[at + i] = tokens.ids[begin + i];
      rows_.segments[at + i] = segments_[row];
      rows_.counts[at + i] = begin + i >= tokens.answer ? 1 : 0;
    }
    fill_[row] += count;
    if (fill_[row] == length_) std::erase(open_, row);
  }

  const DocumentSource& source_;
  const NamedTokenizer* tokenizer_;
  const size_t length_;
  std::optional<int32_t> end_;
  TokenRows rows_;
  std::vector<std::string> files_;
  std::vector<Located> documents_;
  std::vector<size_t> fill_;       // by row: the places that are taken
  std::vector<int32_t> segments_;  // by row: the documents in it
  std::vector<size_t> open_;
};

template <typename T>
StoredArray array_of(const std::string& name, StoredType type, std::vector<int64_t> shape,
                     std::vector<T> values) {
  StoredArray array;
  array.file = name;
  array.type = type;
  array.shape = std::move(shape);
  const auto owner = std::make_shared<const std::vector<T>>(std::move(values));
  array.data = reinterpret_cast<const std::byte*>(owner->data());
  array.owner = owner;
  return array;
}

// By place: the place within its document.
std::vector<int32_t> positions_of(const TokenRows& rows) {
  std::vector<int32_t> positions(rows.segments.size(), 0);
  const auto length = static_cast<size_t>(rows.length);
  for (size_t i = 0; i < positions.size(); ++i)
    if (i % length > 0 && rows.segments[i] != 0 && rows.segments[i] == rows.segments[i - 1])
      positions[i] = positions[i - 1] + 1;
  return positions;
}

template <typename T>
std::vector<T> shifted(const TokenRows& rows, const std::vector<T>& values, int64_t shift, T padding) {
  std::vector<T> found(values.size(), padding);
  const auto length = static_cast<size_t>(rows.length);
  const auto ahead = static_cast<size_t>(std::min(shift, rows.length));
  for (size_t i = 0; i < values.size(); ++i)
    if (i % length + ahead < length && rows.segments[i] != 0 && rows.segments[i] == rows.segments[i + ahead])
      found[i] = values[i + ahead];
  return found;
}

}  // namespace

TokenRows make_rows(const DocumentSource& source, const NamedTokenizer* tokenizer, int64_t length) {
  return RowMaker(source, tokenizer, length).make();
}

StoredArray view_of(const TokenRows& rows, RowPart part, int64_t shift) {
  const std::vector<int64_t> shape = {static_cast<int64_t>(rows.tokens.size()) / rows.length, rows.length};
  StoredArray array;
  switch (part) {
    case RowPart::kTokens:
      array = array_of(rows.file, StoredType::kI32, shape, shifted(rows, rows.tokens, shift, rows.pad));
      array.ids_below = 1 + int64_t{*std::max_element(rows.tokens.begin(), rows.tokens.end())};
      break;
    case RowPart::kMask:
      array = array_of(rows.file, StoredType::kU8, shape, shifted<uint8_t>(rows, rows.counts, shift, 0));
      break;
    case RowPart::kSegments:
      array = array_of(rows.file, StoredType::kI32, shape, shifted(rows, rows.segments, shift, 0));
      break;
    case RowPart::kPositions:
      array = array_of(rows.file, StoredType::kI32, shape, shifted(rows, positions_of(rows), shift, 0));
      break;
  }
  array.sample = rows.sample;
  return array;
}

StoredArray view_of_whole_rows(const std::string& input, RowPart part, const std::vector<int64_t>& shape) {
  check_invariant(part != RowPart::kTokens && !shape.empty(), "rows of tokens have no such part");
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  if (part != RowPart::kPositions)
    return array_of(input, StoredType::kU8, shape, std::vector<uint8_t>(static_cast<size_t>(count), 1));
  std::vector<int32_t> places(static_cast<size_t>(count));
  for (size_t i = 0; i < places.size(); ++i)
    places[i] = static_cast<int32_t>(static_cast<int64_t>(i) % shape.back());
  return array_of(input, StoredType::kI32, shape, std::move(places));
}

}  // namespace mtfc
