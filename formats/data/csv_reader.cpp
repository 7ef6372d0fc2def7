#include "formats/data/csv_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <memory>

#include "core/diagnostics/error.h"
#include "core/diagnostics/printable.h"
#include "core/diagnostics/suggest.h"
#include "formats/data/number_list.h"

namespace mtfc {
namespace {

constexpr size_t kMostNamed = 12;     // columns in a message
constexpr size_t kLongestShown = 40;  // bytes of a field in a message

std::string shown_field(std::string_view text) {
  const bool is_long = text.size() > kLongestShown;
  return printable(std::string(text.substr(0, kLongestShown))) + (is_long ? ".." : "");
}

// Takes a file apart into lines of fields.
class CsvLines {
 public:
  CsvLines(const DataFile& file, CsvComments comments)
      : file_(file), text_(file.text()), has_comments_(comments == CsvComments::kAllowed) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
  }

  /// Reads the next line that is not empty; false at the end. The fields are valid until the next call.
  bool next(std::vector<std::string_view>& fields) {
    fields.clear();
    quoted_.clear();
    while (at_ < text_.size() && (at_end_of_line() || at_comment())) {
      if (at_comment()) at_ = std::min(text_.find('\n', at_), text_.size());
      pass_end_of_line();
    }
    if (at_ == text_.size()) return false;
    line_ = lines_;
    do fields.push_back(field(fields.size()));
    while (pass_comma());
    pass_end_of_line();
    return true;
  }
  int64_t line() const { return line_; }

 private:
  bool at_end_of_line() const {
    return text_[at_] == '\n' || (text_[at_] == '\r' && (at_ + 1 == text_.size() || text_[at_ + 1] == '\n'));
  }
  bool at_comment() const { return has_comments_ && text_[at_] == '#'; }
  void pass_end_of_line() {
    if (at_ < text_.size() && text_[at_] == '\r') ++at_;
    if (at_ < text_.size() && text_[at_] == '\n') ++at_;
    ++lines_;
  }
  bool pass_comma() {
    if (at_ == text_.size() || text_[at_] != ',') return false;
    ++at_;
    return true;
  }
  std::string_view field(size_t index) {
    if (at_ < text_.size() && text_[at_] == '"') return quoted_field(index);
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != ',' && !at_end_of_line()) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  std::string_view quoted_field(size_t index) {
    std::string whole;
    for (size_t begin = ++at_;; begin = ++at_) {
      at_ = text_.find('"', begin);
      if (at_ == std::string_view::npos)
        fail_at(file_, line_, fmt::format("the quote that begins field {} is never closed", index + 1));
      const std::string_view part = text_.substr(begin, at_ - begin);
      lines_ += std::count(part.begin(), part.end(), '\n');
      ++at_;
      const bool is_doubled = at_ < text_.size() && text_[at_] == '"';
      if (!is_doubled && at_ < text_.size() && text_[at_] != ',' && !at_end_of_line())
        fail_at(file_, lines_,
                fmt::format("text follows the quotes of field {} (a quote inside of them is doubled)",
                            index + 1));
      if (!is_doubled && whole.empty()) return part;
      whole += part;  // a quote that is doubled follows
      if (!is_doubled) return *quoted_.emplace_back(std::make_unique<std::string>(std::move(whole)));
      whole += '"';
    }
  }

  const DataFile& file_;
  std::string_view text_;
  bool has_comments_;
  size_t at_ = 0;
  int64_t lines_ = 1, line_ = 1;
  std::vector<std::unique_ptr<std::string>> quoted_;  // fields with quotes inside
};

// A column that is read.
struct CsvColumn {
  std::string name;
  size_t place = 0;
};

class CsvHeader {
 public:
  CsvHeader(const DataFile& file, int64_t line, const std::vector<std::string_view>& names)
      : file_(file), line_(line), names_(names.begin(), names.end()) {}

  /// The columns that are called so, in the order in which they are asked for.
  std::vector<CsvColumn> find(const std::vector<std::string>& wanted) const {
    std::vector<CsvColumn> columns;
    for (const std::string& name : wanted) {
      const size_t before = columns.size();
      const bool is_pattern =
          name.find('*') != std::string::npos && std::count(names_.begin(), names_.end(), name) == 0;
      for (size_t i = 0; i < names_.size(); ++i)
        if (is_pattern ? fnmatch(name.c_str(), names_[i].c_str(), 0) == 0 : names_[i] == name)
          columns.push_back({names_[i], i});
      if (columns.size() == before) fail_missing(name);
      if (!is_pattern && columns.size() > before + 1)
        fail_at(file_, line_, fmt::format("there are several columns '{}'", name));
    }
    return columns;
  }

 private:
  [[noreturn]] void fail_missing(const std::string& name) const {
    const std::string near = did_you_mean(name, names_);
    const auto last = names_.begin() + static_cast<std::ptrdiff_t>(std::min(names_.size(), kMostNamed));
    const std::string list = fmt::format("the columns are {}{}", fmt::join(names_.begin(), last, ", "),
                                         last == names_.end() ? "" : ", ..");
    fail_at(file_, line_,
            fmt::format("there is no column '{}' ({})", name, near.empty() ? printable(list) : near));
  }

  const DataFile& file_;
  int64_t line_;
  std::vector<std::string> names_;
};

}  // namespace

CsvSize read_csv_fields(const DataFile& file, const std::vector<std::string>& columns,
                        const std::function<void(const CsvField&)>& visit, CsvComments comments) {
  if (file.bytes.empty()) throw RunError(file.name + ": the file is empty");
  CsvLines lines(file, comments);
  std::vector<std::string_view> fields;
  if (!lines.next(fields)) throw RunError(file.name + ": the file has no line with the names of its columns");
  const size_t width = fields.size();
  const std::vector<CsvColumn> read = CsvHeader(file, lines.line(), fields).find(columns);
  CsvSize size{0, read.size()};
  for (; lines.next(fields); ++size.rows) {
    if (fields.size() != width)
      fail_at(file, lines.line(),
              fmt::format("the line has {} {}, but the first line names {}", fields.size(),
                          fields.size() == 1 ? "field" : "fields", width));
    for (const auto& [name, place] : read) visit({fields[place], name, lines.line()});
  }
  return size;
}

StoredArray read_csv(const std::string& path, const std::vector<std::string>& columns) {
  const DataFile file = open_data_file(path);
  NumberList numbers;
  const CsvSize size = read_csv_fields(file, columns, [&](const CsvField& field) {
    const std::optional<TextNumber> number = number_in(field.text);
    if (number) return numbers.add(*number);
    const bool is_empty = field.text.find_first_not_of(" \t") == std::string_view::npos;
    fail_at(file, field.line,
            fmt::format("column '{}': {}", field.column,
                        is_empty ? "the field is empty (leave the row out of the file, or give it a number)"
                                 : fmt::format("'{}' is not a number", shown_field(field.text))));
  });
  std::vector<int64_t> shape = {size.rows};
  if (size.columns > 1) shape.push_back(static_cast<int64_t>(size.columns));
  return numbers.array(file, std::move(shape));
}

}  // namespace mtfc
