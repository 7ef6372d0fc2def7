#include "formats/data_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "core/error.h"
#include "core/suggest.h"
#include "formats/idx.h"
#include "formats/npy.h"
#include "formats/token_file.h"

namespace mtfc {
namespace {

constexpr const char* kForms =
    "FILE.npy, idx:FILE, text:FILE, tokens:FILE, random:normal, random:uniform or random:int,hi=N";

// One token of so many, the last ones, is held out by `split`.
constexpr int64_t kValidShare = 10;

using Rows = std::pair<int64_t, int64_t>;

struct Option {
  std::string key;
  std::string value;
};

// A spec taken apart: `source`, then options.
class SpecReader {
 public:
  SpecReader(const std::string& input, const std::string& spec, const NameLookup& lookup)
      : input_(input), spec_(spec), lookup_(lookup) {
    take_apart();
  }
  InputData read();

 private:
  [[noreturn]] void fail(const std::string& message, const std::string& hint = "") const {
    throw UserError(fmt::format("{}={}: {}", input_, spec_, message), hint, {"--input", 0, 0, ""});
  }
  void take_apart();
  void check_options(const std::vector<std::string>& known) const;
  const std::string* find(std::string_view key) const;
  Number number(const std::string& key, const std::string& text) const;
  double real(const std::string& key, double fallback) const;
  int64_t count(const std::string& key, const std::string& text, int64_t fallback) const;
  Rows rows(int64_t available, const std::string& file, const std::string& unit) const;
  void read_array(InputData& data, StoredArray array) const;
  RandomSource random(const std::string& kind) const;
  TokenSource tokens(const std::string& file, bool text) const;

  const std::string& input_;
  const std::string& spec_;
  const NameLookup& lookup_;
  std::string source_;
  std::vector<Option> options_;
};

bool is_option(std::string_view part) {
  const size_t equals = part.find('=');
  return equals != std::string_view::npos && equals > 0 &&
         std::all_of(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(equals),
                     [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

// Names of files and calls in expressions may contain commas: a part that is no option belongs to the one
// before.
void SpecReader::take_apart() {
  size_t start = 0;
  bool first = true;
  while (start <= spec_.size()) {
    const size_t end = std::min(spec_.find(',', start), spec_.size());
    const std::string part = spec_.substr(start, end - start);
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

void SpecReader::check_options(const std::vector<std::string>& known) const {
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

const std::string* SpecReader::find(std::string_view key) const {
  for (const Option& option : options_)
    if (option.key == key) return &option.value;
  return nullptr;
}

Number SpecReader::number(const std::string& key, const std::string& text) const {
  try {
    return evaluate(text, lookup_);
  } catch (const ExpressionError& error) {
    fail(fmt::format("{}={}: {}", key, text, error.message), error.hint);
  }
}

double SpecReader::real(const std::string& key, double fallback) const {
  const std::string* text = find(key);
  return text ? to_double(number(key, *text)) : fallback;
}

int64_t SpecReader::count(const std::string& key, const std::string& text, int64_t fallback) const {
  if (text.empty()) return fallback;
  const auto value = to_integer(number(key, text));
  if (!value || *value < 0)
    fail(fmt::format("{}: '{}' is no {}", key, text, key == "rows" ? "row number" : "number of tokens"));
  return *value;
}

// What `,rows=A:B` leaves of `available` rows.
Rows SpecReader::rows(int64_t available, const std::string& file, const std::string& unit) const {
  const std::string* text = find("rows");
  if (!text) return {0, available};
  const size_t colon = text->find(':');
  if (colon == std::string::npos) fail(fmt::format("expected rows=A:B, found rows={}", *text));
  const int64_t first = count("rows", text->substr(0, colon), 0);
  const int64_t last = count("rows", text->substr(colon + 1), available);
  if (first >= last) fail(fmt::format("rows={} are no rows", *text));
  if (last > available) fail(fmt::format("rows={}, but {} has {} {}", *text, file, available, unit));
  return {first, last};
}

void SpecReader::read_array(InputData& data, StoredArray array) const {
  if (find("rows")) {
    if (array.shape.empty()) fail("'rows' of an array without dimensions");
    data.rows = rows(array.shape[0], array.file, "rows");
  }
  data.source = std::move(array);
}

// Rows are tokens here; a split is taken of what they leave.
TokenSource SpecReader::tokens(const std::string& file, bool text) const {
  std::vector<std::string> known = {"shift", "split", "rows", "scale"};
  if (!text) known.insert(known.begin(), "width");
  check_options(known);
  if (file.empty()) fail("the name of the file is missing");
  TokenSource source;
  if (const std::string* shift = find("shift")) source.shift = count("shift", *shift, 0);
  const std::string* split = find("split");
  if (split && *split != "train" && *split != "valid") {
    const std::string near = did_you_mean(*split, {"train", "valid"});
    fail(fmt::format("unknown split '{}'", *split), near.empty() ? "splits are train and valid" : near);
  }
  StoredType type = text ? StoredType::kU8 : StoredType::kU16;
  if (const std::string* width = find("width")) {
    if (*width != "2" && *width != "4")
      fail(fmt::format("'{}' is no width of a token", *width), "2 or 4 bytes");
    if (*width == "4") type = StoredType::kU32;
  }
  source.tokens = read_tokens(file, type);
  auto [first, last] = rows(source.tokens.shape[0], file, text ? "bytes" : "tokens");
  if (split) (*split == "train" ? last : first) = last - (last - first) / kValidShare;
  source.first = first;
  source.tokens.shape = {last - first};
  source.tokens.data += first * size_of(type);
  return source;
}

RandomSource SpecReader::random(const std::string& kind) const {
  RandomSource source;
  const std::vector<std::string> kinds = {"normal", "uniform", "int"};
  if (kind == "normal") {
    check_options({"scale"});
    return source;
  }
  if (kind != "uniform" && kind != "int") {
    const std::string near = did_you_mean(kind, kinds);
    fail(fmt::format("unknown distribution '{}'", kind),
         near.empty() ? "known are normal, uniform and int" : near);
  }
  check_options({"lo", "hi", "scale"});
  source.kind = kind == "int" ? RandomKind::kInteger : RandomKind::kUniform;
  source.low = real("lo", 0);
  if (kind == "int" && !find("hi")) fail("random:int needs 'hi'", "numbers come out below it");
  source.high = real("hi", 1);
  if (kind == "int" && (!to_integer(source.low) || !to_integer(source.high)))
    fail("'lo' and 'hi' of random:int must be whole numbers");
  if (source.low >= source.high) fail(fmt::format("no numbers lie in [{}, {})", source.low, source.high));
  return source;
}

InputData SpecReader::read() {
  InputData data;
  data.input = input_;
  data.spec = spec_;
  const size_t colon = source_.find(':');
  const std::string prefix = colon == std::string::npos ? "" : source_.substr(0, colon);
  const std::string rest = colon == std::string::npos ? source_ : source_.substr(colon + 1);
  if (prefix == "random") {
    data.source = random(rest);
  } else if (prefix == "text" || prefix == "tokens") {
    data.source = tokens(rest, prefix == "text");
  } else if (prefix == "idx" || source_.ends_with(".npy")) {
    check_options({"rows", "scale"});
    if (rest.empty()) fail("the name of the file is missing");
    data.scale = real("scale", 1);  // before the file is touched: what is malformed comes first
    read_array(data, prefix == "idx" ? read_idx(rest) : read_npy(source_));
  } else {
    const std::string near = did_you_mean(prefix, {"random", "idx", "text", "tokens"});
    fail(fmt::format("unknown source '{}'", source_),
         near.empty() ? fmt::format("expected {}", kForms) : near);
  }
  data.scale = real("scale", 1);
  return data;
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

InputData read_input_data(const std::string& input, const std::string& spec, const NameLookup& lookup) {
  return SpecReader(input, spec, lookup).read();
}

}  // namespace mtfc
