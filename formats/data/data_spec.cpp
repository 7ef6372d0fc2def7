#include "formats/data/data_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <vector>

#include "core/diagnostics/error.h"
#include "core/diagnostics/suggest.h"
#include "formats/data/file_source.h"
#include "formats/data/joined_array.h"
#include "formats/data/token_file.h"
#include "formats/json/mapped_file.h"

namespace mtfc {
namespace {

constexpr const char* kForms =
    "FILE.npy, FILE.npz, csv:FILE, jsonl:FILE, images:FOLDER, labels:FOLDER, idx:FILE, text:FILE, "
    "tokens:FILE, random:normal, "
    "random:uniform, "
    "random:int,hi=N or present";

constexpr const char* kPresentRows = "present";

// `split` holds out one token in this many, the last ones.
constexpr int64_t kValidShare = 10;

enum class SourceKind { kArray, kTokens, kRandom, kPresent };

struct Option {
  std::string key;
  std::string value;
};

// The value of `,rows=A:B`; an end that is left out is the file's.
struct Rows {
  int64_t first = 0;
  std::optional<int64_t> last;
};

bool is_option(std::string_view part) {
  const size_t equals = part.find('=');
  return equals != std::string_view::npos && equals > 0 &&
         std::all_of(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(equals),
                     [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

// Files that are known by their endings.
constexpr std::pair<const char*, FileKind> kEndings[] = {
    {".npy", FileKind::kNpy}, {".npy.gz", FileKind::kNpy}, {".npz", FileKind::kNpz}};
// Files whose kind is named, as in `idx:FILE`.
constexpr std::pair<const char*, FileKind> kPrefixes[] = {
    {"idx", FileKind::kIdx},      {"text", FileKind::kTokens}, {"tokens", FileKind::kTokens},
    {"csv", FileKind::kCsv},      {"jsonl", FileKind::kJsonl}, {"images", FileKind::kImages},
    {"labels", FileKind::kLabels}};

std::string prefix_of(const std::string& source) {
  const size_t colon = source.find(':');
  return colon == std::string::npos ? "" : source.substr(0, colon);
}

// The kind of file that a source names, and its name; nullopt for a source of another kind.
std::optional<FileSource> file_of(const std::string& source) {
  const std::string named = prefix_of(source);
  for (const auto& [prefix, kind] : kPrefixes)
    if (named == prefix) return FileSource{kind, source.substr(named.size() + 1)};
  for (const auto& [ending, kind] : kEndings)
    if (source.ends_with(ending)) return FileSource{kind, source};
  return std::nullopt;
}

// A spec taken apart into its source and its options. Malformed specs are refused before any file is opened.
class SpecReader {
 public:
  SpecReader(const FedInput& input, const std::string& spec, const NameLookup& lookup)
      : input_(input), spec_(spec), lookup_(lookup) {
    take_apart();
    settle_file();
    parse();
  }

  InputData open() const {
    InputData data;
    data.input = input_.name;
    data.spec = spec_;
    data.scale = scale_;
    try {
      switch (kind_) {
        case SourceKind::kArray:
          open_array(data, with_dims_of_input(read_file_source(file_)));
          break;
        case SourceKind::kTokens:
          data.source = open_tokens();
          break;
        case SourceKind::kRandom:
          data.source = random_;
          break;
        case SourceKind::kPresent:
          data.source = PresentRows{};
          break;
      }
    } catch (const UnreadableFile& error) {
      throw RunError(fmt::format("cannot read the data of input '{}' from '{}': {}", input_.name, file_.file,
                                 error.text()));
    }
    return data;
  }

 private:
  [[noreturn]] void fail(const std::string& message, const std::string& hint = "") const {
    // An --input option may be given several times; a location in a file already shows which spec is meant.
    const bool is_option = input_.at.line == 0;
    throw UserError(is_option ? fmt::format("{}={}: {}", input_.name, spec_, message) : message, hint,
                    input_.at);
  }

  // File names and calls in expressions may contain commas: a part that is not an option belongs to the
  // previous one.
  void take_apart() {
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

  // A file may be called `run,lr=3.npy`: if what looks like options belongs to the name of a file, the shortest such
  // name counts.
  void settle_file() {
    constexpr auto is_known = [](const Option& option) {
      for (const char* key : {"rows", "scale", "shift", "split", "width", "array", "column", "key"})
        if (option.key == key) return true;
      return false;
    };
    std::string source = source_;
    for (auto next = options_.begin();; ++next) {
      const std::optional<FileSource> file = file_of(source);
      std::error_code error;
      if (file && std::all_of(next, options_.end(), is_known) &&
          (is_folder(file->kind) ? std::filesystem::is_directory(file->file, error)
                                 : std::filesystem::is_regular_file(file->file, error))) {
        source_ = source;
        options_.erase(options_.begin(), next);
        return;
      }
      if (next == options_.end()) return;
      source += "," + next->key + "=" + next->value;
    }
  }

  void check_options(const std::vector<std::string>& known) const {
    for (size_t i = 0; i < options_.size(); ++i) {
      const std::string& key = options_[i].key;
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        const std::string near = did_you_mean(key, known);
        fail(fmt::format("'{}' is not an option of this source", key),
             near.empty() && !known.empty() ? fmt::format("options are {}", fmt::join(known, ", ")) : near);
      }
      for (size_t j = 0; j < i; ++j)
        if (options_[j].key == key) fail(fmt::format("'{}' is given twice", key));
    }
  }

  const std::string* find(std::string_view key) const {
    for (const Option& option : options_)
      if (option.key == key) return &option.value;
    return nullptr;
  }

  Number number(const std::string& key, const std::string& text) const {
    try {
      return evaluate(text, lookup_);
    } catch (const ExpressionError& error) {
      if (error.is_reported()) throw;
      fail(fmt::format("{}={}: {}", key, text, error.what()), error.hint);
    }
  }

  double real(const std::string& key, double fallback) const {
    const std::string* text = find(key);
    return text ? to_double(number(key, *text)) : fallback;
  }

  int64_t count(const std::string& key, const std::string& text) const {
    const auto value = to_integer(number(key, text));
    if (!value || *value < 0)
      fail(fmt::format("{}: '{}' is not a {}", key, text, key == "rows" ? "row number" : "number of tokens"));
    return *value;
  }

  void parse() {
    const std::string prefix = prefix_of(source_);
    if (prefix == "random") {
      kind_ = SourceKind::kRandom;
      parse_random();
    } else if (const std::optional<FileSource> file = file_of(source_)) {
      file_ = *file;
      file_.dims = input_.dims;
      if (file_.file.empty())
        fail(fmt::format("the name of the {} is missing", is_folder(file_.kind) ? "folder" : "file"));
      parse_file(prefix);
    } else if (source_ == kPresentRows) {
      kind_ = SourceKind::kPresent;
      check_options({});
    } else {
      unknown_source(prefix);
    }
    scale_ = real("scale", 1);
    parse_rows();
    check_dtype();
    if (kind_ == SourceKind::kRandom) check_random_range();
  }

  void parse_file(const std::string& prefix) {
    if (file_.kind == FileKind::kTokens) {
      kind_ = SourceKind::kTokens;
      return parse_tokens(prefix == "text");
    }
    kind_ = SourceKind::kArray;
    const char* taken = file_.kind == FileKind::kNpz     ? "array"
                        : file_.kind == FileKind::kCsv   ? "column"
                        : file_.kind == FileKind::kJsonl ? "key"
                                                         : nullptr;
    std::vector<std::string> known = {"rows", "scale"};
    if (taken) known.insert(known.begin(), taken);
    check_options(known);
    const std::string* value = taken ? find(taken) : nullptr;
    if (file_.kind == FileKind::kNpz && value) file_.array = *value;
    if (file_.kind == FileKind::kCsv) parse_columns(value);
    if (file_.kind == FileKind::kJsonl && (!value || value->empty()))
      fail("the key is missing", fmt::format("jsonl:{},key=NAME takes the numbers of this key", file_.file));
    if (file_.kind == FileKind::kJsonl) file_.columns = {*value};
  }

  // `a+b` names two columns.
  void parse_columns(const std::string* names) {
    if (names)
      for (size_t begin = 0; begin <= names->size();) {
        const size_t end = std::min(names->find('+', begin), names->size());
        file_.columns.push_back(names->substr(begin, end - begin));
        begin = end + 1;
      }
    if (!names || std::count(file_.columns.begin(), file_.columns.end(), "") > 0)
      fail("the name of a column is missing",
           fmt::format("csv:{0},column=NAME takes a column, and column=NAME+NAME several", file_.file));
  }

  // How to make an array of a file of another kind; "" if the file's name does not tell that it is one.
  std::string conversion_hint() const {
    // People write `csv:x.csv`, as other sources are written.
    const size_t colon = source_.find(':');
    const std::filesystem::path path(colon == std::string::npos ? source_ : source_.substr(colon + 1));
    const std::string ending = path.extension().string();
    const std::string array = std::filesystem::path(path).replace_extension(".npy").string();
    const std::string dtype = !input_.dtype || is_float(*input_.dtype) ? "float32" : "int32";
    if (ending == ".tsv")
      return fmt::format(
          "TSV is not read; in Python, numpy.save('{}', numpy.loadtxt('{}', '{}', delimiter='\\t')) makes "
          "an array of it: {}",
          array, path.string(), dtype, array);
    if (ending == ".csv") return fmt::format("csv:{},column=NAME takes a column of it", path.string());
    if (ending == ".jsonl") return fmt::format("jsonl:{},key=NAME takes a key of it", path.string());
    for (const char* other : {".pt", ".pth", ".parquet", ".h5", ".hdf5"})
      if (ending == other)
        return fmt::format("{} files are not read; numpy.save('{}', array) stores one of its arrays", ending,
                           array);
    return "";
  }

  [[noreturn]] void unknown_source(const std::string& prefix) const {
    std::string hint =
        did_you_mean(prefix.empty() ? source_ : prefix,
                     {"random", "idx", "text", "tokens", "csv", "jsonl", "images", "labels", kPresentRows});
    std::error_code error;
    if (std::string array = conversion_hint(); !array.empty())
      hint = std::move(array);
    else if (std::filesystem::is_regular_file(source_, error))
      hint = fmt::format("name the kind of file: text:{0}, tokens:{0} or idx:{0}; an array ends in .npy",
                         source_);
    fail(fmt::format("unknown source '{}'", source_),
         hint.empty() ? fmt::format("expected {}", kForms) : hint);
  }

  void parse_rows() {
    const std::string* text = find("rows");
    if (!text) return;
    const size_t colon = text->find(':');
    if (colon == std::string::npos) fail(fmt::format("expected rows=A:B, found rows={}", *text));
    rows_.emplace();
    if (colon > 0) rows_->first = count("rows", text->substr(0, colon));
    if (colon + 1 < text->size()) rows_->last = count("rows", text->substr(colon + 1));
    if (rows_->last && rows_->first >= *rows_->last) fail(fmt::format("rows={} names no rows", *text));
  }

  // Refuses combinations that no file could make valid.
  void check_dtype() const {
    if (!input_.dtype || is_float(*input_.dtype)) return;
    const std::string dtype = to_string(*input_.dtype);
    if (kind_ == SourceKind::kRandom && random_.kind != RandomKind::kInteger)
      fail(fmt::format("this source gives fractions, but the input '{}' is {}", input_.name, dtype),
           "random:int,hi=N gives whole numbers");
    if (scale_ != 1)
      fail(fmt::format("a scale needs floating point, but the input '{}' is {}", input_.name, dtype));
  }

  void parse_tokens(bool text) {
    std::vector<std::string> known = {"shift", "split", "rows", "scale"};
    if (!text) known.insert(known.begin(), "width");
    check_options(known);
    if (const std::string* shift = find("shift"); shift && !shift->empty()) shift_ = count("shift", *shift);
    const std::string* split = find("split");
    if (split && *split != "train" && *split != "valid") {
      const std::string near = did_you_mean(*split, {"train", "valid"});
      fail(fmt::format("unknown split '{}'", *split), near.empty() ? "splits are train and valid" : near);
    }
    file_.token = text ? StoredType::kU8 : StoredType::kU16;
    const std::string* width = find("width");
    if (width && *width != "2" && *width != "4")
      fail(fmt::format("'{}' is not a token width", *width), "2 or 4 bytes");
    // mtfc tokenize names the width in the ending.
    const bool is_wide = file_.file.ends_with(".u32") || file_.file.ends_with(".u32.gz");
    if (width ? *width == "4" : !text && is_wide) file_.token = StoredType::kU32;
  }

  void parse_random() {
    const std::string kind = source_.substr(source_.find(':') + 1);
    if (kind != "normal" && kind != "uniform" && kind != "int") {
      const std::string near = did_you_mean(kind, {"normal", "uniform", "int"});
      fail(fmt::format("unknown distribution '{}'", kind),
           near.empty() ? "known are normal, uniform and int" : near);
    }
    if (find("rows")) fail("random numbers never end, so 'rows' can't choose a range of them");
    if (kind == "normal") return check_options({"scale"});
    check_options({"lo", "hi", "scale"});
    random_.kind = kind == "int" ? RandomKind::kInteger : RandomKind::kUniform;
    random_.low = real("lo", 0);
    if (kind == "int" && !find("hi")) fail("random:int needs 'hi'", "numbers are drawn below it");
    random_.high = real("hi", 1);
    if (kind == "int") check_whole_bounds();
    if (random_.low >= random_.high)
      fail(fmt::format("no numbers lie in [{}, {})", random_.low, random_.high));
  }

  // Refuses bounds of random:int that are no whole numbers, or that the input's dtype does not hold.
  void check_whole_bounds() const {
    constexpr int64_t kExact = int64_t{1} << 53;
    int64_t bounds[2] = {};
    for (const char* key : {"lo", "hi"}) {
      const std::string* text = find(key);
      const std::optional<int64_t> bound = text ? to_integer(number(key, *text)) : 0;
      if (!bound && std::abs(real(key, 0)) <= kExact)
        fail("'lo' and 'hi' of random:int must be whole numbers");
      if (!bound || *bound > kExact || *bound < -kExact)
        fail(fmt::format("{}={} is beyond 2^53, up to which random:int can draw every whole number", key,
                         *text));
      bounds[key == std::string_view("hi")] = *bound;
    }
    if (!input_.dtype || is_float(*input_.dtype) || *input_.dtype == DType::kI64) return;
    const bool is_bool = *input_.dtype == DType::kBool;
    const int64_t first = is_bool ? 0 : std::numeric_limits<int32_t>::min();
    const int64_t last = is_bool ? 1 : std::numeric_limits<int32_t>::max();
    if (bounds[0] >= first && bounds[1] <= last + 1) return;
    fail(fmt::format("random:int draws from {} to {} here, but the input '{}' is {}, which holds {} to {}",
                     bounds[0], bounds[1] - 1, input_.name, to_string(*input_.dtype), first, last),
         is_bool ? "random:int,hi=2 draws both" : "");
  }

  // Refuses numbers that become infinite in the input.
  void check_random_range() const {
    constexpr double kMostDeviations = 10;  // more than any that is drawn
    const double most =
        random_.kind == RandomKind::kNormal
            ? kMostDeviations
            : std::max({std::abs(random_.low), std::abs(random_.high), random_.high - random_.low});
    const double scaled = most * std::abs(scale_);
    if (!std::isfinite(scaled) || (input_.dtype == DType::kF32 && !fits_f32(scaled)) ||
        (input_.dtype == DType::kBF16 && !fits_bf16(scaled)))
      fail(fmt::format("random numbers of up to {:.3g} are beyond the range of {}", scaled,
                       to_string(input_.dtype.value_or(DType::kF64))));
  }

  // The range that `rows` selects from `available` rows.
  std::pair<int64_t, int64_t> rows_of_file(int64_t available, const std::string& unit) const {
    if (!rows_) return {0, available};
    const int64_t last = rows_->last.value_or(available);
    if (last > available)
      fail(fmt::format("rows={}, but {} has {} {}", *find("rows"), file_.file, available, unit));
    if (rows_->first >= last)
      fail(fmt::format("rows={} names no rows: {} has {}", *find("rows"), file_.file, available));
    return {rows_->first, last};
  }

  // Columns say how many numbers a row has, and not how they are arranged: a picture may come as 784 of them.
  StoredArray with_dims_of_input(StoredArray array) const {
    const bool is_plain = file_.kind == FileKind::kCsv || file_.kind == FileKind::kJsonl;
    if (!is_plain || input_.dims.empty() || array.shape.size() > 2) return array;
    std::vector<int64_t> shape = {array.shape[0]};
    int64_t wanted = 1;
    for (size_t i = 1; i < input_.dims.size(); ++i) {
      shape.push_back(input_.dims[i].size);
      wanted *= input_.dims[i].size;
    }
    if (wanted == (array.shape.size() > 1 ? array.shape[1] : 1)) array.shape = std::move(shape);
    return array;
  }

  void open_array(InputData& data, StoredArray array) const {
    if (rows_) {
      if (array.shape.empty()) fail("an array without dimensions has no 'rows'");
      data.rows = rows_of_file(array.shape[0], "rows");
    }
    data.source = std::move(array);
  }

  // Rows are tokens here; `split` applies to the selected rows.
  TokenSource open_tokens() const {
    TokenSource source;
    source.shift = shift_;
    const StoredArray all = read_file_source(file_);
    if (!find("width") && looks_four_bytes_wide(all))
      fail(fmt::format("tokens of 2 bytes are read from {}, but its tokens seem to have 4, as every second "
                       "one of these is next to 0",
                       file_.file),
           "give width=4, or width=2 if that is right");
    auto [first, last] = rows_of_file(all.shape[0], file_.token == StoredType::kU8 ? "bytes" : "tokens");
    if (const std::string* split = find("split"))
      (*split == "train" ? last : first) = last - (last - first) / kValidShare;
    source.first = first;
    source.tokens = rows_of(all, first, last);
    return source;
  }

  const FedInput& input_;
  const std::string& spec_;
  const NameLookup& lookup_;
  std::string source_;
  std::vector<Option> options_;
  SourceKind kind_ = SourceKind::kArray;
  FileSource file_;
  double scale_ = 1;
  std::optional<Rows> rows_;
  RandomSource random_;
  int64_t shift_ = 0;
};

}  // namespace

NameLookup lookup_of(const std::map<std::string, double>& names) {
  NameLookup lookup;
  lookup.known = [names] {
    std::vector<std::string> list;
    for (const auto& [name, value] : names) list.push_back(name);
    return list;
  };
  lookup.find = [names](std::string_view name) -> std::optional<Number> {
    const auto at = names.find(std::string(name));
    if (at == names.end()) return std::nullopt;
    const std::optional<int64_t> whole = to_integer(at->second);
    return whole ? Number(*whole) : Number(at->second);
  };
  return lookup;
}

void check_data_spec(const FedInput& input, const std::string& spec, const NameLookup& lookup) {
  SpecReader(input, spec, lookup);
}

InputData read_input_data(const FedInput& input, const std::string& spec, const NameLookup& lookup) {
  return SpecReader(input, spec, lookup).open();
}

}  // namespace mtfc
