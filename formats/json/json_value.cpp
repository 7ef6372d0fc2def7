#include "formats/json/json_value.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "formats/json/json_mistake.h"

namespace mtfc {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Counts how much of the text nlohmann's lexer has consumed: its events carry no positions.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, size_t* count) : at_(at), count_(count) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*count_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  size_t* count_;
};

// Line and column of offsets, which must be asked for in ascending order.
class PlaceCounter {
 public:
  explicit PlaceCounter(std::string_view text) : text_(text) {}
  JsonPlace at(size_t offset) {
    for (; offset_ < offset && offset_ < text_.size(); ++offset_) {
      if (text_[offset_] == '\n') {
        ++place_.line;
        place_.column = 1;
      } else if ((static_cast<unsigned char>(text_[offset_]) & 0xC0) != 0x80) {
        ++place_.column;
      }
    }
    return place_;
  }

 private:
  std::string_view text_;
  size_t offset_ = 0;
  JsonPlace place_;
};

class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  TreeBuilder(std::string_view text, const std::string& file) : text_(text), file_(file), places_(text) {}

  size_t* consumed() { return &consumed_; }
  JsonValue take() && { return std::move(root_); }
  std::vector<Diagnostic>& errors() { return errors_; }

  bool null() override { return scalar(JsonKind::kNull); }
  bool boolean(bool value) override {
    JsonValue* added = add(JsonKind::kBool);
    added->flag = value;
    return true;
  }
  bool number_integer(number_integer_t) override { return number(); }
  bool number_unsigned(number_unsigned_t) override { return number(); }
  bool number_float(number_float_t, const string_t&) override { return number(); }
  bool string(string_t& value) override {
    JsonValue* added = add(JsonKind::kString);
    added->text = std::move(value);
    return true;
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(JsonKind::kObject); }
  bool start_array(std::size_t) override { return open(JsonKind::kArray); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override;
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override;

 private:
  // The next token starts after the text consumed by the previous event and the separators that follow.
  size_t token_start() const {
    size_t at = end_;
    while (at < text_.size() && (is_space(text_[at]) || text_[at] == ',' || text_[at] == ':')) ++at;
    return at;
  }
  JsonValue* add(JsonKind kind);
  bool scalar(JsonKind kind) {
    add(kind);
    return true;
  }
  bool number();
  bool open(JsonKind kind);
  bool close();
  bool fail(size_t offset, std::string message);
  std::string pointer_of_open() const;

  std::string_view text_;
  const std::string& file_;
  PlaceCounter places_;
  size_t consumed_ = 0;  // bytes read by the lexer
  size_t end_ = 0;       // end of the last event's token
  JsonValue root_;
  std::vector<JsonValue*> open_;  // containers around the current location, outermost first
  std::vector<std::unordered_map<std::string, JsonPlace>> keys_;  // keys of the open objects; empty for lists
  std::vector<Diagnostic> errors_;
};

JsonValue* TreeBuilder::add(JsonKind kind) {
  JsonValue* added = &root_;
  if (!open_.empty()) {
    JsonValue& parent = *open_.back();
    added = parent.kind == JsonKind::kObject ? &parent.members.back().value : &parent.items.emplace_back();
  }
  added->kind = kind;
  added->place = places_.at(token_start());
  end_ = consumed_;
  return added;
}

bool TreeBuilder::number() {
  // The lexer has read one character past the number, unless the text ends with it.
  const size_t start = token_start();
  size_t end = text_.find_first_not_of("+-.0123456789eE", start);
  if (end == std::string_view::npos) end = text_.size();
  JsonValue* added = add(JsonKind::kNumber);
  added->text = text_.substr(start, end - start);
  end_ = end;
  return true;
}

bool TreeBuilder::open(JsonKind kind) {
  const size_t start = token_start();
  if (open_.size() == kDeepestJson)
    return fail(start, fmt::format("values nest more than {} deep", kDeepestJson));
  open_.push_back(add(kind));
  keys_.emplace_back();
  return true;
}

bool TreeBuilder::close() {
  open_.pop_back();
  keys_.pop_back();
  end_ = consumed_;
  return true;
}

// The JSON pointer of the innermost open container.
std::string TreeBuilder::pointer_of_open() const {
  std::string pointer;
  for (size_t i = 0; i + 1 < open_.size(); ++i) {
    const JsonValue& parent = *open_[i];
    pointer =
        child_pointer(pointer, parent.kind == JsonKind::kObject ? parent.members.back().key
                                                                : std::to_string(parent.items.size() - 1));
  }
  return pointer;
}

bool TreeBuilder::key(string_t& value) {
  const JsonPlace place = places_.at(token_start());
  end_ = consumed_;
  const auto [first, is_new] = keys_.back().emplace(value, place);
  if (!is_new)
    errors_.push_back({{file_, place.line, place.column, child_pointer(pointer_of_open(), value)},
                       fmt::format("duplicate key '{}'", value),
                       fmt::format("it is first given in line {}", first->second.line)});
  open_.back()->members.push_back({std::move(value), place, {}});
  return true;
}

bool TreeBuilder::fail(size_t offset, std::string message) {
  const JsonPlace place = places_.at(offset);
  errors_.push_back({{file_, place.line, place.column, ""}, std::move(message), ""});
  return false;
}

bool TreeBuilder::parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) {
  const std::string what = error.what();
  // The offending token is the last one read; separators before it raised no event.
  size_t at = end_;
  const size_t read = std::min(consumed_, text_.size());
  const auto skip_spaces = [&](size_t from) {
    while (from < text_.size() && is_space(text_[from])) ++from;
    return from;
  };
  char before = 0;
  at = skip_spaces(at);
  while (at < read && (text_[at] == ',' || text_[at] == ':') && skip_spaces(at + 1) < read) {
    before = text_[at];
    at = skip_spaces(at + 1);
  }
  if (what.find("out_of_range") != std::string::npos) {
    const size_t end = text_.find_first_not_of("+-.0123456789eE", at);
    return fail(at, fmt::format("the number {} is too large", text_.substr(at, end - at)));
  }
  if (skip_spaces(0) == text_.size()) return fail(at, "the file is empty");
  if (open_.empty() && end_ == 0 && is_binary(text_)) return fail(at, "the file is binary, not JSON");
  JsonMistake mistake{what, text_.substr(std::min(at, text_.size())), before, open_.empty() && end_ > 0,
                      false};
  std::string message = describe(mistake);
  if (mistake.inside_string && read > at) at = read - 1;
  return fail(at, "malformed JSON: " + message);
}

}  // namespace

std::optional<int64_t> JsonValue::integer() const {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end == text.data() + text.size()) return error == std::errc() ? std::optional(value) : std::nullopt;
  const double real = number();
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (std::floor(real) != real || std::abs(real) > kExact) return std::nullopt;
  return static_cast<int64_t>(real);
}

double JsonValue::number() const {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

const JsonValue* JsonValue::find(std::string_view key) const {
  for (const JsonMember& member : members)
    if (member.key == key) return &member.value;
  return nullptr;
}

namespace {

bool is_text_start(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos &&
         std::string_view("{[\"").find(text[first]) != std::string_view::npos &&
         text.substr(first, 2).find('\0') == std::string_view::npos;
}

}  // namespace

JsonValue parse_json(std::string_view text, const std::string& file) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  // nlohmann would take a zero byte for the end of the text.
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos) {
    const JsonPlace place = PlaceCounter(text).at(zero);
    const bool text_before = is_text_start(text);
    throw UserError(text_before ? "malformed JSON: a zero byte" : "the file is binary, not JSON", "",
                    {file, place.line, place.column, ""});
  }
  TreeBuilder builder(text, file);
  nlohmann::json::sax_parse(CountingIterator(text.data(), builder.consumed()),
                            CountingIterator(text.data() + text.size(), builder.consumed()), &builder);
  if (!builder.errors().empty()) throw UserError(std::move(builder.errors()));
  return std::move(builder).take();
}

std::optional<JsonValue> find_json(std::string_view text) {
  try {
    return parse_json(text, "");
  } catch (const UserError&) {
    return std::nullopt;
  }
}

std::string child_pointer(const std::string& pointer, std::string_view token) {
  std::string child;
  child.reserve(pointer.size() + 1 + token.size());
  child += pointer;
  child += '/';
  for (const char c : token) {
    if (c == '~')
      child += "~0";
    else if (c == '/')
      child += "~1";
    else
      child += c;
  }
  return child;
}

}  // namespace mtfc
