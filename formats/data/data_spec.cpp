#include "formats/data/data_spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <tuple>
#include <vector>

#include "core/diagnostics/error.h"
#include "core/diagnostics/suggest.h"
#include "formats/data/file_source.h"
#include "formats/data/joined_array.h"
#include "formats/data/spec_parts.h"
#include "formats/data/text_tokens.h"
#include "formats/data/token_file.h"
#include "formats/json/mapped_file.h"

namespace mtfc {
namespace {

constexpr const char* kForms =
    "FILE.npy, FILE.npz, csv:FILE, jsonl:FILE, images:FOLDER, labels:FOLDER, idx:FILE, text:FILE, "
    "lines:FILE, "
    "tokens:FILE, random:normal, random:uniform, random:int,hi=N, present or of:INPUT";

constexpr const char* kPresentRows = "present";
constexpr const char* kViewPrefix = "of";

// `split` holds out one token in this many, the last ones.
constexpr int64_t kValidShare = 10;

enum class SourceKind { kArray, kTokens, kDocuments, kRandom, kPresent, kView };

// The value of `,rows=A:B`; an end that is left out is the file's.
struct Rows {
  int64_t first = 0;
  std::optional<int64_t> last;
};

// A spec taken apart into its source and its options. Malformed specs are refused before any file is opened.
class SpecReader {
 public:
  SpecReader(const FedInput& input, const std::string& spec, const NameLookup& lookup)
      : input_(input), spec_(spec), lookup_(lookup), parts_(spec), source_(parts_.source) {
    parse();
  }

  const DataView* view() const { return kind_ == SourceKind::kView ? &view_ : nullptr; }

  InputData open() const {
    InputData data;
    data.input = input_.name;
    data.spec = spec_;
    data.scale = scale_;
    TextTokens own;
    TextTokens& texts = input_.texts ? *input_.texts : own;
    try {
      if (takes_whole_rows()) {
        open_whole_rows(data, texts);
        return data;
      }
      switch (kind_) {
        case SourceKind::kArray:
          open_array(data, with_dims_of_input(read_file_source(file_, texts)));
          break;
        case SourceKind::kTokens:
          data.source = open_tokens(texts);
          break;
        case SourceKind::kDocuments:
          data.source = open_documents(texts);
          break;
        case SourceKind::kRandom:
          data.source = random_;
          break;
        case SourceKind::kPresent:
          data.source = PresentRows{};
          break;
        case SourceKind::kView:
          fail("this source is a part of the data of another input, and is for runs");
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

  void check_options(const std::vector<std::string>& known) const {
    const std::vector<SpecOption>& options = parts_.options;
    for (size_t i = 0; i < options.size(); ++i) {
      const std::string& key = options[i].key;
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        const std::string near = did_you_mean(key, known);
        fail(fmt::format("'{}' is not an option of this source", key),
             near.empty() && !known.empty() ? fmt::format("options are {}", fmt::join(known, ", ")) : near);
      }
      for (size_t j = 0; j < i; ++j)
        if (options[j].key == key) fail(fmt::format("'{}' is given twice", key));
    }
  }

  const std::string* find(std::string_view key) const { return parts_.find(key); }

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
      parse_file();
    } else if (prefix == kViewPrefix) {
      kind_ = SourceKind::kView;
      parse_view();
    } else if (source_ == kPresentRows) {
      kind_ = SourceKind::kPresent;
      check_options({});
    } else {
      unknown_source(prefix);
    }
    scale_ = real("scale", 1);
    parse_rows();
    if (rows_)
      std::tie(documents_.first, documents_.last) = std::pair(rows_->first, rows_->last.value_or(INT64_MAX));
    check_dtype();
    if (kind_ == SourceKind::kRandom) check_random_range();
  }

  void parse_file() {
    if (file_.kind == FileKind::kTokens || file_.kind == FileKind::kText) {
      kind_ = SourceKind::kTokens;
      return parse_tokens();
    }
    const bool is_table = file_.kind == FileKind::kCsv || file_.kind == FileKind::kJsonl;
    if (file_.kind == FileKind::kLines || (is_table && find("text"))) {
      kind_ = SourceKind::kDocuments;
      return parse_documents();
    }
    kind_ = SourceKind::kArray;
    const char* taken = file_.kind == FileKind::kNpz     ? "array"
                        : file_.kind == FileKind::kCsv   ? "column"
                        : file_.kind == FileKind::kJsonl ? "key"
                                                         : nullptr;
    std::vector<std::string> known = {"rows", "scale"};
    if (is_table) known.insert(known.begin(), "text");
    if (taken) known.insert(known.begin(), taken);
    check_options(known);
    const std::string* value = taken ? find(taken) : nullptr;
    if (file_.kind == FileKind::kNpz && value) file_.array = *value;
    if (file_.kind == FileKind::kCsv) parse_columns(value);
    if (file_.kind == FileKind::kJsonl && (!value || value->empty()))
      fail("the key is missing",
           fmt::format("jsonl:{},key=NAME takes the numbers of this key, and text=NAME the tokens of its "
                       "texts",
                       file_.file));
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
           fmt::format("csv:{0},column=NAME takes a column, column=NAME+NAME several, and text=NAME the "
                       "tokens of texts",
                       file_.file));
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
    std::string hint = did_you_mean(
        prefix.empty() ? source_ : prefix,
        {"random", "idx", "text", "tokens", "csv", "jsonl", "lines", "images", "labels", kPresentRows});
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

  void parse_shift(int64_t& shift) const {
    if (const std::string* text = find("shift"); text && !text->empty()) shift = count("shift", *text);
  }

  // Returns whether the last part of the data is taken, which `split` holds out; nullopt without `split`.
  std::optional<bool> held_out() const {
    const std::string* split = find("split");
    if (split) require_one_of("split", *split, {"train", "valid"}, "splits are train and valid");
    return split ? std::optional(*split == "valid") : std::nullopt;
  }

  void require_one_of(const char* key, const std::string& value, const std::vector<std::string>& known,
                      const std::string& hint) const {
    if (std::find(known.begin(), known.end(), value) != known.end()) return;
    const std::string near = did_you_mean(value, known);
    fail(fmt::format("unknown {} '{}'", key, value), near.empty() ? hint : near);
  }

  bool flag(const char* key) const {
    const std::string* value = find(key);
    if (value) require_one_of(key, *value, {"yes", "no"}, fmt::format("{0}=yes or {0}=no", key));
    return value && *value == "yes";
  }

  // The value of an option that must not be empty.
  std::string name(const char* key, const std::string& fallback = "") const {
    const std::string* value = find(key);
    if (value && value->empty()) fail(fmt::format("'{}' is empty", key));
    return value ? *value : fallback;
  }

  void parse_tokens() {
    const bool is_text = file_.kind == FileKind::kText;
    check_options({is_text ? "tokenizer" : "width", "shift", "split", "rows", "scale"});
    parse_shift(shift_);
    held_out();
    if (is_text) file_.tokenizer = name("tokenizer");
    const std::string* width = find("width");
    if (width && *width != "2" && *width != "4")
      fail(fmt::format("'{}' is not a token width", *width), "2 or 4 bytes");
    // mtfc tokenize names the width in the ending.
    const bool is_wide = file_.file.ends_with(".u32") || file_.file.ends_with(".u32.gz");
    if (width ? *width == "4" : is_wide) file_.token = StoredType::kU32;
  }

  void parse_documents() {
    std::vector<std::string> known = {"tokenizer", "end", "pad", "special", "pack", "long", "rows", "split"};
    if (file_.kind != FileKind::kLines) known.insert(known.begin(), {"text", "answer"});
    if (find("shift") || find("part"))
      fail("'shift' and 'part' are for other inputs, which take parts of the same rows",
           fmt::format("give those inputs of:{0},shift=1 or of:{0},part=mask", input_.name));
    check_options(known);
    documents_.kind = file_.kind == FileKind::kLines ? DocumentKind::kLines
                      : file_.kind == FileKind::kCsv ? DocumentKind::kCsv
                                                     : DocumentKind::kJsonl;
    documents_.file = file_.file;
    documents_.text = name("text");
    documents_.answer = name("answer");
    documents_.tokenizer = name("tokenizer");
    documents_.end = name("end");
    documents_.pad = name("pad", documents_.pad);
    documents_.special = flag("special");
    documents_.packs = flag("pack");
    const std::string longer = name("long");
    if (!longer.empty()) require_one_of("long", longer, {"cut", "split"}, "long=cut or long=split");
    if (longer == "split" && !documents_.packs)
      fail("long=split divides texts over rows, so that rows are not those of the file any more",
           "give pack=yes, or long=cut");
    documents_.longer = longer == "cut"     ? LongDocument::kCut
                        : longer == "split" ? LongDocument::kSplit
                                            : LongDocument::kRefused;
    if (const std::optional<bool> valid = held_out()) {
      documents_.held_out = kValidShare;
      documents_.takes_held_out = *valid;
    }
  }

  void parse_view() {
    check_options({"part", "shift"});
    view_.input = source_.substr(source_.find(':') + 1);
    if (view_.input.empty()) fail("the name of the input is missing", "of:INPUT takes a part of its data");
    parse_shift(view_.shift);
    const std::string* part = find("part");
    if (!part) return;
    require_one_of("part", *part, enum_names<RowPart>(),
                   fmt::format("parts are {}", fmt::join(enum_names<RowPart>(), ", ")));
    view_.part = *value_named<RowPart>(*part);
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
    if (input_.view && input_.view->part == RowPart::kTokens && input_.view->shift > 0)
      fail(fmt::format("'{}' can't have the tokens that follow: no text is read, but rows", input_.name),
           "give it a source of its own");
    if (rows_) {
      if (array.shape.empty()) fail("an array without dimensions has no 'rows'");
      data.rows = rows_of_file(array.shape[0], "rows");
    }
    data.source = std::move(array);
  }

  // Returns whether the part that is taken is no part of the data, because each row is a text without padding.
  bool takes_whole_rows() const {
    return input_.view && input_.view->part != RowPart::kTokens && kind_ != SourceKind::kDocuments;
  }

  void open_whole_rows(InputData& data, TextTokens& texts) const {
    if (kind_ == SourceKind::kTokens)
      fail(fmt::format("'{}' can't have such a part of windows, in which texts begin anywhere", input_.name),
           "lines:FILE,pack=yes has rows of whole texts");
    std::vector<int64_t> shape;
    for (const Dim& dim : input_.dims) shape.push_back(dim.size);
    if (shape.empty()) fail("a part of rows of tokens is for an input with dimensions");
    if (kind_ == SourceKind::kArray) {
      open_array(data, read_file_source(file_, texts));
      const auto& array = std::get<StoredArray>(data.source);
      if (!array.shape.empty()) shape[0] = array.shape[0];
    }
    data.scale = 1;
    data.source = view_of_whole_rows(input_.name, input_.view->part, shape);
  }

  // A row of tokens is as long as one of the input, or of the other input that this is a part of.
  StoredArray open_documents(TextTokens& texts) const {
    const Dims& dims = input_.view ? input_.view->dims : input_.dims;
    if (dims.size() < 2)
      fail(fmt::format("the tokens of texts are for an input with rows, and '{}' is [{}]", input_.name,
                       to_string(dims)),
           "give the input two dimensions, as in [\"batch\", \"length\"]");
    const std::shared_ptr<const TokenRows> rows =
        texts.rows(documents_, elements(Dims(dims.begin() + 1, dims.end())));
    StoredArray array = view_of(*rows, input_.view ? input_.view->part : RowPart::kTokens,
                                input_.view ? input_.view->shift : 0);
    if (dims.size() > 2) {
      array.shape.pop_back();
      for (size_t i = 1; i < dims.size(); ++i) array.shape.push_back(dims[i].size);
    }
    return array;
  }

  // Rows are tokens here; `split` applies to the selected rows.
  TokenSource open_tokens(TextTokens& texts) const {
    TokenSource source;
    source.shift = shift_ + (input_.view ? input_.view->shift : 0);
    const StoredArray all = read_file_source(file_, texts);
    if (file_.kind == FileKind::kTokens && !find("width") && looks_four_bytes_wide(all))
      fail(fmt::format("tokens of 2 bytes are read from {}, but its tokens seem to have 4, as every second "
                       "one of these is next to 0",
                       file_.file),
           "give width=4, or width=2 if that is right");
    auto [first, last] = rows_of_file(all.shape[0], all.type == StoredType::kU8 ? "bytes" : "tokens");
    if (const std::optional<bool> valid = held_out())
      (*valid ? first : last) = last - (last - first) / kValidShare;
    source.first = first;
    source.tokens = rows_of(all, first, last);
    return source;
  }

  const FedInput& input_;
  const std::string& spec_;
  const NameLookup& lookup_;
  const SpecParts parts_;
  const std::string& source_;
  SourceKind kind_ = SourceKind::kArray;
  FileSource file_;
  DocumentSource documents_;
  DataView view_;
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

std::optional<DataView> data_view(const FedInput& input, const std::string& spec, const NameLookup& lookup) {
  if (!spec.starts_with(std::string(kViewPrefix) + ":")) return std::nullopt;
  return *SpecReader(input, spec, lookup).view();
}

InputData read_input_data(const FedInput& input, const std::string& spec, const NameLookup& lookup) {
  return SpecReader(input, spec, lookup).open();
}

}  // namespace mtfc
