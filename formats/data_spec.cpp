#include "formats/data_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "core/error.h"
#include "core/suggest.h"
#include "formats/idx.h"
#include "formats/mapped_file.h"
#include "formats/npy.h"
#include "formats/token_file.h"

namespace mtfc {
namespace {

constexpr const char* kForms =
    "FILE.npy, idx:FILE, text:FILE, tokens:FILE, random:normal, random:uniform or random:int,hi=N";

// One token of so many, the last ones, is held out by `split`.
constexpr int64_t kValidShare = 10;

enum class SourceKind { kNpy, kIdx, kText, kTokens, kRandom };

struct Option {
  std::string key;
  std::string value;
};

// What `,rows=A:B` says; without B, up to the end.
struct Rows {
  std::string text;
  int64_t first = 0;
  std::optional<int64_t> last;
};

struct ParsedSpec {
  SourceKind kind = SourceKind::kNpy;
  std::string file;
  RandomSource random;
  int64_t shift = 0;
  StoredType token_type = StoredType::kU8;
  std::string split;  // train, valid or ""
  std::optional<Rows> rows;
  double scale = 1;
};

[[noreturn]] void fail(std::string message, std::string hint = "") {
  throw DataSpecError{std::move(message), std::move(hint)};
}

// Takes a spec apart: `source`, then options. Looks at no file.
class SpecParser {
 public:
  SpecParser(const std::string& spec, const NameLookup& lookup) : lookup_(lookup) { take_apart(spec); }
  ParsedSpec parse() const;

 private:
  void take_apart(const std::string& spec);
  void check_options(const std::vector<std::string>& known) const;
  const std::string* find(std::string_view key) const;
  Number number(const std::string& key, const std::string& text) const;
  double real(const std::string& key, double fallback) const;
  int64_t count(const std::string& key, const std::string& text) const;
  std::optional<Rows> rows() const;
  RandomSource random(const std::string& distribution) const;
  void parse_tokens(ParsedSpec& spec) const;

  const NameLookup& lookup_;
  std::string source_;
  std::vector<Option> options_;
  SourceKind kind_ = SourceKind::kArray;
  std::string file_;
  double scale_ = 1;
  std::optional<Rows> rows_;
  RandomSource random_;
  StoredType token_ = StoredType::kU8;
  int64_t shift_ = 0;
};

bool is_option(std::string_view part) {
  const size_t equals = part.find('=');
  return equals != std::string_view::npos && equals > 0 &&
         std::all_of(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(equals),
                     [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

// Names of files and calls in expressions may contain commas: a part that is no option belongs to the one
// before.
void SpecParser::take_apart(const std::string& spec) {
  size_t start = 0;
  bool first = true;
  while (start <= spec.size()) {
    const size_t end = std::min(spec.find(',', start), spec.size());
    const std::string part = spec.substr(start, end - start);
    if (first)
      source_ = part;
    else if (is_option(part))
      options_.push_back({part.substr(0, part.find('=')), part.substr(part.find('=') + 1)});
    else
      (options_.empty() ? source_ : options_.back().value) += "," + part;
    first = false;
    start = end + 1;
  }
}

void SpecParser::check_options(const std::vector<std::string>& known) const {
  for (size_t i = 0; i < options_.size(); ++i) {
    const std::string& key = options_[i].key;
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      const std::string near = did_you_mean(key, known);
      fail(fmt::format("'{}' is no option of this source", key),
           near.empty() && !known.empty() ? fmt::format("options are {}", fmt::join(known, ", ")) : near);
    }
    for (size_t j = 0; j < i; ++j)
      if (options_[j].key == key) fail(fmt::format("'{}' is given twice", key));
  }
}

const std::string* SpecParser::find(std::string_view key) const {
  for (const Option& option : options_)
    if (option.key == key) return &option.value;
  return nullptr;
}

Number SpecParser::number(const std::string& key, const std::string& text) const {
  try {
    return evaluate(text, lookup_);
  } catch (const ExpressionError& error) {
    if (error.message.empty()) fail("");
    fail(fmt::format("{}={}: {}", key, text, error.message), error.hint);
  }
}

double SpecParser::real(const std::string& key, double fallback) const {
  const std::string* text = find(key);
  return text ? to_double(number(key, *text)) : fallback;
}

int64_t SpecParser::count(const std::string& key, const std::string& text) const {
  const auto value = to_integer(number(key, text));
  if (!value || *value < 0)
    fail(fmt::format("{}: '{}' is no {}", key, text, key == "rows" ? "row number" : "number of tokens"));
  return *value;
}

std::optional<Rows> SpecParser::rows() const {
  const std::string* text = find("rows");
  if (!text) return std::nullopt;
  const size_t colon = text->find(':');
  if (colon == std::string::npos) fail(fmt::format("expected rows=A:B, found rows={}", *text));
  const std::string first = text->substr(0, colon), last = text->substr(colon + 1);
  Rows found{*text, 0, std::nullopt};
  if (!first.empty()) found.first = count("rows", first);
  if (!last.empty()) found.last = count("rows", last);
  if (found.last && found.first >= *found.last) fail(fmt::format("rows={} are no rows", *text));
  return found;
}

void SpecParser::parse_tokens(ParsedSpec& spec) const {
  std::vector<std::string> known = {"shift", "split", "rows", "scale"};
  if (spec.kind == SourceKind::kTokens) known.insert(known.begin(), "width");
  check_options(known);
  if (const std::string* shift = find("shift")) spec.shift = shift->empty() ? 0 : count("shift", *shift);
  if (const std::string* split = find("split")) {
    if (*split != "train" && *split != "valid") {
      const std::string near = did_you_mean(*split, {"train", "valid"});
      fail(fmt::format("unknown split '{}'", *split), near.empty() ? "splits are train and valid" : near);
    }
    spec.split = *split;
  }
  if (spec.kind == SourceKind::kTokens) spec.token_type = StoredType::kU16;
  if (const std::string* width = find("width")) {
    if (*width != "2" && *width != "4")
      fail(fmt::format("'{}' is no width of a token", *width), "2 or 4 bytes");
    if (*width == "4") spec.token_type = StoredType::kU32;
  }
}

RandomSource SpecParser::random(const std::string& distribution) const {
  const std::vector<std::string> kinds = {"normal", "uniform", "int"};
  if (std::find(kinds.begin(), kinds.end(), distribution) == kinds.end()) {
    const std::string near = did_you_mean(distribution, kinds);
    fail(fmt::format("unknown distribution '{}'", distribution),
         near.empty() ? "known are normal, uniform and int" : near);
  }
  if (find("rows")) fail("random numbers have no end, so 'rows' can't take a part of them", "leave it out");
  RandomSource source;
  if (distribution == "normal") {
    check_options({"scale"});
    return source;
  }
  check_options({"lo", "hi", "scale"});
  const bool whole = distribution == "int";
  source.kind = whole ? RandomKind::kInteger : RandomKind::kUniform;
  source.low = real("lo", 0);
  if (whole && !find("hi")) fail("random:int needs 'hi'", "numbers come out below it");
  source.high = real("hi", 1);
  if (whole && (!to_integer(source.low) || !to_integer(source.high)))
    fail("'lo' and 'hi' of random:int must be whole numbers");
  if (random_.low >= random_.high) fail(fmt::format("no numbers lie in [{}, {})", random_.low, random_.high));
}

// What is left of `available` rows.
std::pair<int64_t, int64_t> SpecReader::rows_of(int64_t available, const std::string& unit) const {
  if (!rows_) return {0, available};
  const int64_t last = rows_->last.value_or(available);
  if (last > available) fail(fmt::format("rows={}, but {} has {} {}", *find("rows"), file_, available, unit));
  if (rows_->first >= last)
    fail(fmt::format("rows={} are no rows: {} has {}", *find("rows"), file_, available));
  return {rows_->first, last};
}

void SpecReader::open_array(InputData& data, StoredArray array) const {
  if (rows_) {
    if (array.shape.empty()) fail("'rows' of an array without dimensions");
    data.rows = rows_of(array.shape[0], "rows");
  }
  data.source = std::move(array);
}

// Rows are tokens here; a split is taken of what they leave.
TokenSource SpecReader::open_tokens() const {
  TokenSource source;
  source.shift = shift_;
  source.tokens = read_tokens(file_, token_);
  auto [first, last] = rows_of(source.tokens.shape[0], token_ == StoredType::kU8 ? "bytes" : "tokens");
  if (const std::string* split = find("split"))
    (*split == "train" ? last : first) = last - (last - first) / kValidShare;
  source.first = first;
  source.tokens.shape = {last - first};
  source.tokens.data += first * size_of(token_);
  return source;
}

ParsedSpec SpecParser::parse() const {
  const size_t colon = source_.find(':');
  const std::string prefix = colon == std::string::npos ? "" : source_.substr(0, colon);
  ParsedSpec spec;
  spec.file = colon == std::string::npos ? source_ : source_.substr(colon + 1);
  if (prefix == "random") {
    spec.kind = SourceKind::kRandom;
    spec.random = random(spec.file);
  } else if (prefix == "text" || prefix == "tokens") {
    spec.kind = prefix == "text" ? SourceKind::kText : SourceKind::kTokens;
    parse_tokens(spec);
  } else if (prefix == "idx" || source_.ends_with(".npy")) {
    check_options({"rows", "scale"});
    spec.kind = prefix == "idx" ? SourceKind::kIdx : SourceKind::kNpy;
    if (spec.kind == SourceKind::kNpy) spec.file = source_;
  } else {
    const std::string near = did_you_mean(prefix, {"random", "idx", "text", "tokens"});
    fail(fmt::format("unknown source '{}'", source_),
         near.empty() ? fmt::format("expected {}", kForms) : near);
  }
  if (spec.file.empty()) fail("the name of the file is missing");
  spec.rows = rows();
  spec.scale = real("scale", 1);
  return spec;
}

// What the rows of the spec leave of `available` ones.
std::pair<int64_t, int64_t> rows_of(const ParsedSpec& spec, int64_t available, const std::string& unit) {
  if (!spec.rows) return {0, available};
  const int64_t last = spec.rows->last.value_or(available);
  if (last > available || spec.rows->first >= last)
    fail(fmt::format("rows={}, but {} has {} {}", spec.rows->text, spec.file, available, unit));
  return {spec.rows->first, last};
}

// Rows are tokens here; a split is taken of what they leave.
TokenSource open_tokens(const ParsedSpec& spec) {
  TokenSource source;
  source.shift = spec.shift;
  source.tokens = read_tokens(spec.file, spec.token_type);
  auto [first, last] =
      rows_of(spec, source.tokens.shape[0], spec.kind == SourceKind::kText ? "bytes" : "tokens");
  if (!spec.split.empty()) (spec.split == "train" ? last : first) = last - (last - first) / kValidShare;
  source.first = first;
  source.tokens.shape = {last - first};
  source.tokens.data += first * size_of(spec.token_type);
  return source;
}

void open_array(const ParsedSpec& spec, InputData& data) {
  StoredArray array = spec.kind == SourceKind::kIdx ? read_idx(spec.file) : read_npy(spec.file);
  if (spec.rows) {
    if (array.shape.empty()) fail("'rows' of an array without dimensions");
    data.rows = rows_of(spec, array.shape[0], "rows");
  }
  data.source = std::move(array);
}

}  // namespace

NameLookup lookup_of(const std::map<std::string, double>& names) {
  NameLookup lookup;
  for (const auto& [name, value] : names) lookup.known.push_back(name);
  lookup.find = [names](std::string_view name) -> std::optional<Number> {
    const auto at = names.find(std::string(name));
    if (at == names.end()) return std::nullopt;
    const std::optional<int64_t> whole = to_integer(at->second);
    return whole ? Number(*whole) : Number(at->second);
  };
  return lookup;
}

std::optional<DataSpecError> data_spec_problem(const std::string& spec, const NameLookup& lookup) {
  try {
    SpecParser(spec, lookup).parse();
  } catch (const DataSpecError& error) {
    return error;
  }
  return std::nullopt;
}

InputData read_input_data(const std::string& input, const std::string& spec, const NameLookup& lookup,
                          const Location& giver) {
  InputData data;
  data.input = input;
  data.spec = spec;
  try {
    const ParsedSpec parsed = SpecParser(spec, lookup).parse();
    data.scale = parsed.scale;
    if (parsed.kind == SourceKind::kRandom)
      data.source = parsed.random;
    else if (parsed.kind == SourceKind::kText || parsed.kind == SourceKind::kTokens)
      data.source = open_tokens(parsed);
    else
      open_array(parsed, data);
  } catch (const DataSpecError& error) {
    // An option may be given several times; a place in a file shows which spec is meant.
    const bool is_option = giver.line == 0;
    throw UserError(is_option ? fmt::format("{}={}: {}", input, spec, error.message) : error.message,
                    error.hint, giver);
  }
  return data;
}

}  // namespace mtfc
