#include "formats/tokenizer/bpe_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <unordered_map>

#include "core/diagnostics/error.h"
#include "formats/tokenizer/code_points.h"

namespace mtfc {
namespace {

constexpr uint32_t kNoRank = std::numeric_limits<uint32_t>::max();

// The merges by their pairs: a table with open addressing.
class MergeTable {
 public:
  struct Merge {
    uint64_t pair = kEmpty;
    uint32_t rank = kNoRank;
    int32_t merged = -1;
  };

  explicit MergeTable(const std::vector<TokenPair>& merges)
      : slots_(std::bit_ceil(2 * merges.size() + 2)), shift_(64 - std::countr_zero(slots_.size())) {
    for (size_t rank = 0; rank < merges.size(); ++rank) {
      const TokenPair& merge = merges[rank];
      slots_[place(key(merge.left, merge.right))] = {key(merge.left, merge.right),
                                                     static_cast<uint32_t>(rank), merge.merged};
    }
  }

  /// One with kNoRank if the pair is not merged.
  const Merge& find(int32_t left, int32_t right) const { return slots_[place(key(left, right))]; }

 private:
  static constexpr uint64_t kEmpty = std::numeric_limits<uint64_t>::max();
  static uint64_t key(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  // The slot of the pair, or the empty one where it would be.
  size_t place(uint64_t pair) const {
    size_t at = (pair * 0x9E3779B97F4A7C15) >> shift_;
    while (slots_[at].pair != pair && slots_[at].pair != kEmpty) at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  std::vector<Merge> slots_;
  int shift_;
};

// A set of pairs of code points that are neighbours within tokens. It may say yes for others.
class NeighbourSet {
 public:
  void add(uint32_t left, uint32_t right) { bits_[word(left, right)] |= bit(left, right); }
  bool has(uint32_t left, uint32_t right) const { return (bits_[word(left, right)] & bit(left, right)) != 0; }

 private:
  static uint64_t hash(uint32_t left, uint32_t right) {
    return (static_cast<uint64_t>(left) << 32 | right) * 0x9E3779B97F4A7C15 >> 42;
  }
  static size_t word(uint32_t left, uint32_t right) { return hash(left, right) >> 6; }
  static uint64_t bit(uint32_t left, uint32_t right) { return uint64_t{1} << (hash(left, right) & 63); }

  std::vector<uint64_t> bits_ = std::vector<uint64_t>(1 << 16);
};

class BpeModel : public TokenModel {
 public:
  BpeModel(TokenVocabulary vocabulary, const std::vector<TokenPair>& merges, const BpeSettings& settings);

  void encode(std::string_view word, ModelMemory& memory, std::vector<int32_t>& ids) const override;
  bool parts_at(uint32_t left, uint32_t right) const override {
    return !settings_.ignore_merges && can_part(left, right);
  }

 private:
  // Words from this length on are encoded in parts, between characters that no token has as neighbours.
  static constexpr size_t kLongWord = 16;
  // Words with more symbols than this are merged with a heap.
  static constexpr size_t kManySymbols = 48;
  static constexpr uint32_t kDirectCharacters = 0x250;
  static constexpr uint64_t kPartHash = 0x5555555555555555;

  // The character on the right has a token, so that no unknown ones on both sides become one.
  bool can_part(uint32_t left, uint32_t right) const {
    return can_part_ && !neighbours_.has(left, right) && character_id(right) >= 0;
  }
  int32_t character_id(uint32_t character) const;
  void encode_part(std::string_view part, bool is_whole, ModelMemory& memory,
                   std::vector<int32_t>& ids) const;
  void add_characters(std::string_view part, std::vector<int32_t>& symbols) const;
  int32_t affixed_id(std::string_view character, bool is_first, bool is_last) const;
  bool add_bytes(std::string_view character, std::vector<int32_t>& symbols) const;
  void merge_few(std::vector<int32_t>& symbols, std::vector<uint32_t>& ranks) const;
  void merge_many(std::vector<int32_t>& symbols, ModelMemory& memory) const;
  void propose(ModelMemory& memory, int32_t at) const;

  BpeSettings settings_;
  MergeTable merges_;
  NeighbourSet neighbours_;
  bool can_part_ = false;
  int32_t unknown_ = -1;
  std::vector<int32_t> direct_;                       // ids of the first characters of Unicode; -1: none
  std::vector<int32_t> byte_ids_;                     // of <0x00> to <0xFF>; -1: none
  std::unordered_map<uint32_t, int32_t> characters_;  // ids of the other characters
};

BpeModel::BpeModel(TokenVocabulary vocabulary, const std::vector<TokenPair>& merges,
                   const BpeSettings& settings)
    : TokenModel(std::move(vocabulary)),
      settings_(settings),
      merges_(merges),
      direct_(kDirectCharacters, -1) {
  const TokenVocabulary& tokens = this->vocabulary();
  for (const auto& [token, id] : tokens.entries()) {
    if (token.empty()) continue;
    CodePoint last = code_point_at(token, 0);
    if (last.length == token.size()) {
      if (last.value < kDirectCharacters)
        direct_[last.value] = id;
      else
        characters_[last.value] = id;
    }
    for (size_t at = last.length; at < token.size();) {
      const CodePoint next = code_point_at(token, at);
      neighbours_.add(last.value, next.value);
      last = next;
      at += next.length;
    }
  }
  can_part_ = settings_.continuing_prefix.empty() && settings_.end_suffix.empty();
  if (settings_.unknown) unknown_ = tokens.id(*settings_.unknown).value_or(-1);
  for (int byte = 0; byte < 256; ++byte)
    byte_ids_.push_back(
        settings_.byte_fallback ? tokens.id(byte_token(static_cast<unsigned char>(byte))).value_or(-1) : -1);
}

int32_t BpeModel::character_id(uint32_t character) const {
  if (character < kDirectCharacters) return direct_[character];
  const auto found = characters_.find(character);
  return found == characters_.end() ? -1 : found->second;
}

int32_t BpeModel::affixed_id(std::string_view character, bool is_first, bool is_last) const {
  std::string token = is_first ? "" : settings_.continuing_prefix;
  token += character;
  if (is_last) token += settings_.end_suffix;
  return vocabulary().id(token).value_or(-1);
}

// Returns false, without a change, if a byte has no token.
bool BpeModel::add_bytes(std::string_view character, std::vector<int32_t>& symbols) const {
  const size_t before = symbols.size();
  for (const char c : character) symbols.push_back(byte_ids_[static_cast<unsigned char>(c)]);
  const bool all =
      std::find(symbols.begin() + static_cast<ptrdiff_t>(before), symbols.end(), -1) == symbols.end();
  if (!all) symbols.resize(before);
  return all;
}

void BpeModel::add_characters(std::string_view part, std::vector<int32_t>& symbols) const {
  bool is_unknown = false;  // An unknown character waits for others that become one token with it.
  const auto add_unknown = [&] {
    if (is_unknown) symbols.push_back(unknown_);
    is_unknown = false;
  };
  for (size_t at = 0; at < part.size();) {
    const CodePoint point = code_point_at(part, at);
    const std::string_view character = part.substr(at, point.length);
    const size_t end = at + point.length;
    const int32_t id =
        can_part_ ? character_id(point.value) : affixed_id(character, at == 0, end == part.size());
    at = end;
    if (id >= 0) {
      add_unknown();
      symbols.push_back(id);
      continue;
    }
    if (settings_.byte_fallback) {
      std::string affixed;
      if (!can_part_)
        affixed = (at == point.length ? "" : settings_.continuing_prefix) + std::string(character) +
                  (end == part.size() ? settings_.end_suffix : "");
      if (add_bytes(can_part_ ? character : affixed, symbols)) continue;
    }
    if (unknown_ < 0) continue;  // Without a token for unknown characters, they are left out.
    if (!settings_.fuse_unknown) add_unknown();
    is_unknown = true;
  }
  add_unknown();
}

// Goes through all pairs for each merge, which is fast for the few symbols of a word.
void BpeModel::merge_few(std::vector<int32_t>& symbols, std::vector<uint32_t>& ranks) const {
  const auto rank_at = [&](size_t at) { return merges_.find(symbols[at], symbols[at + 1]).rank; };
  ranks.clear();
  for (size_t i = 0; i + 1 < symbols.size(); ++i) ranks.push_back(rank_at(i));
  while (!ranks.empty()) {
    const auto least = std::min_element(ranks.begin(), ranks.end());
    if (*least == kNoRank) return;
    const auto at = static_cast<size_t>(least - ranks.begin());
    symbols[at] = merges_.find(symbols[at], symbols[at + 1]).merged;
    symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(at) + 1);
    ranks.erase(least);
    if (at > 0) ranks[at - 1] = rank_at(at - 1);
    if (at < ranks.size()) ranks[at] = rank_at(at);
  }
}

// The order of candidates in a heap whose front is the lowest rank, and of these the first place.
bool comes_later(const ModelMemory::Candidate& a, const ModelMemory::Candidate& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.at > b.at;
}

void BpeModel::propose(ModelMemory& memory, int32_t at) const {
  const ModelMemory::Symbol& symbol = memory.symbols[static_cast<size_t>(at)];
  if (symbol.next < 0) return;
  const MergeTable::Merge& merge =
      merges_.find(symbol.id, memory.symbols[static_cast<size_t>(symbol.next)].id);
  if (merge.rank == kNoRank) return;
  memory.candidates.push_back({merge.rank, at, merge.merged});
  std::push_heap(memory.candidates.begin(), memory.candidates.end(), comes_later);
}

void BpeModel::merge_many(std::vector<int32_t>& symbols, ModelMemory& memory) const {
  auto& list = memory.symbols;
  list.clear();
  memory.candidates.clear();
  if (symbols.size() > std::numeric_limits<int32_t>::max())
    throw RunError("a word is too long to be tokenized");
  const auto count = static_cast<int32_t>(symbols.size());
  for (int32_t i = 0; i < count; ++i)
    list.push_back({symbols[static_cast<size_t>(i)], i - 1, i + 1 < count ? i + 1 : -1});
  for (int32_t i = 0; i < count; ++i) propose(memory, i);
  while (!memory.candidates.empty()) {
    std::pop_heap(memory.candidates.begin(), memory.candidates.end(), comes_later);
    const ModelMemory::Candidate best = memory.candidates.back();
    memory.candidates.pop_back();
    ModelMemory::Symbol& symbol = list[static_cast<size_t>(best.at)];
    if (symbol.id < 0 || symbol.next < 0) continue;
    ModelMemory::Symbol& next = list[static_cast<size_t>(symbol.next)];
    if (merges_.find(symbol.id, next.id).merged != best.id) continue;  // The pair has changed since.
    symbol.id = best.id;
    next.id = -1;
    symbol.next = next.next;
    if (symbol.next >= 0) list[static_cast<size_t>(symbol.next)].previous = best.at;
    if (symbol.previous >= 0) propose(memory, symbol.previous);
    propose(memory, best.at);
  }
  symbols.clear();
  for (int32_t i = 0; i >= 0; i = list[static_cast<size_t>(i)].next)
    symbols.push_back(list[static_cast<size_t>(i)].id);
}

// The cache knows parts of words, which are always merged, by other hashes than whole words.
void BpeModel::encode_part(std::string_view part, bool is_whole, ModelMemory& memory,
                           std::vector<int32_t>& ids) const {
  const bool is_kept = part.size() <= WordCache::kLongestWord;
  const uint64_t hash = is_kept ? hash_of_word(part) ^ (is_whole ? 0 : kPartHash) : 0;
  if (is_kept)
    if (const auto known = memory.cache.find(part, hash)) {
      ids.insert(ids.end(), known->begin(), known->end());
      return;
    }
  auto& symbols = memory.ids;
  symbols.clear();
  const auto token = is_whole && settings_.ignore_merges ? vocabulary().id(part) : std::nullopt;
  if (token)
    symbols.push_back(*token);
  else
    add_characters(part, symbols);
  if (symbols.size() > kManySymbols)
    merge_many(symbols, memory);
  else
    merge_few(symbols, memory.ranks);
  if (is_kept) memory.cache.add(part, hash, symbols);
  ids.insert(ids.end(), symbols.begin(), symbols.end());
}

void BpeModel::encode(std::string_view word, ModelMemory& memory, std::vector<int32_t>& ids) const {
  if (!can_part_ || word.size() < kLongWord) return encode_part(word, true, memory, ids);
  if (settings_.ignore_merges)
    if (const auto whole = vocabulary().id(word)) return ids.push_back(*whole);
  size_t begin = 0;
  CodePoint last = code_point_at(word, 0);
  for (size_t at = last.length; at < word.size();) {
    const CodePoint next = code_point_at(word, at);
    if (can_part(last.value, next.value)) {
      encode_part(word.substr(begin, at - begin), false, memory, ids);
      begin = at;
    }
    last = next;
    at += next.length;
  }
  encode_part(word.substr(begin), false, memory, ids);
}

}  // namespace

std::unique_ptr<TokenModel> make_bpe_model(TokenVocabulary vocabulary, const std::vector<TokenPair>& merges,
                                           const BpeSettings& settings) {
  return std::make_unique<BpeModel>(std::move(vocabulary), merges, settings);
}

}  // namespace mtfc
