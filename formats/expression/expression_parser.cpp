#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "formats/expression/expression.h"

namespace mtfc {
namespace {

constexpr std::array<std::string_view, 3> kWords = {"and", "or", "not"};
constexpr std::array<std::string_view, 6> kFunctions = {"min", "max", "ceil", "floor", "sqrt", "log"};
// Longest first, so that ** is not read as two *.
constexpr std::array<std::string_view, 17> kSymbols = {"**", "//", "==", "!=", "<=", ">=", "<", ">", "+",
                                                       "-",  "*",  "/",  "%",  "(",  ")",  ",", "="};
constexpr std::array<std::string_view, 6> kComparisons = {"==", "!=", "<=", ">=", "<", ">"};

template <size_t N>
bool is_one_of(const std::array<std::string_view, N>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// The spelling in this language of another language's operator.
std::string spelling_of(std::string_view character) {
  if (character == "^") return "'**' raises to a power";
  if (character == "&") return "'and' joins conditions";
  if (character == "|") return "'or' joins conditions";
  if (character == "!") return "'not' negates";
  return "";
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool continues_name(char c) {
  return starts_name(c) || is_digit(c);
}

}  // namespace

bool is_expression_name(std::string_view name) {
  return !name.empty() && starts_name(name[0]) && std::all_of(name.begin(), name.end(), continues_name) &&
         !is_one_of(kWords, name) && !is_one_of(kFunctions, name);
}

// Recursive descent, one function per level of precedence, writing postfix code.
class ExpressionParser {
 public:
  explicit ExpressionParser(std::string_view text) : text_(text) { advance(); }

  Expression parse() {
    if (kind_ == Token::kEnd) fail("the expression is empty");
    disjunction();
    if (kind_ != Token::kEnd) fail(unexpected());
    return std::move(result_);
  }

 private:
  using Code = Expression::Code;
  enum class Token { kEnd, kNumber, kName, kSymbol };

  // Counts a level of nesting during its lifetime.
  class Level {
   public:
    explicit Level(ExpressionParser& parser) : parser_(parser) {
      if (++parser_.depth_ > Expression::kDeepest)
        parser_.fail(fmt::format("the expression nests more than {} deep", Expression::kDeepest));
    }
    ~Level() { --parser_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    ExpressionParser& parser_;
  };

  [[noreturn]] void fail(std::string message) const { throw ExpressionError{std::move(message), "", start_}; }
  std::string unexpected() const {
    return kind_ == Token::kEnd ? "the expression ends too early" : fmt::format("unexpected '{}'", token_);
  }

  void advance();
  void read_number();
  bool at(std::string_view symbol) const {
    return (kind_ == Token::kSymbol || (kind_ == Token::kName && is_one_of(kWords, symbol))) &&
           token_ == symbol;
  }
  bool take(std::string_view symbol) {
    if (!at(symbol)) return false;
    advance();
    return true;
  }
  void expect(std::string_view symbol) {
    if (!take(symbol))
      fail(kind_ == Token::kEnd ? fmt::format("'{}' is missing", symbol)
                                : fmt::format("expected '{}', found '{}'", symbol, token_));
  }
  size_t emit(Code code, size_t offset) {
    result_.code_.push_back({code, offset});
    return result_.code_.size() - 1;
  }

  void disjunction();
  void conjunction();
  void negation();
  void comparison();
  void sum();
  void product();
  void sign();
  void power();
  void atom();
  void call(std::string_view function, size_t offset);

  std::string_view text_;
  size_t next_ = 0;  // end of the current token
  Token kind_ = Token::kEnd;
  std::string_view token_;
  size_t start_ = 0;  // start of the current token
  Number number_ = int64_t{0};
  int depth_ = 0;
  Expression result_;
};

void ExpressionParser::advance() {
  while (next_ < text_.size() && (text_[next_] == ' ' || text_[next_] == '\t' || text_[next_] == '\n'))
    ++next_;
  start_ = next_;
  if (next_ == text_.size()) {
    kind_ = Token::kEnd;
    token_ = {};
    return;
  }
  const char c = text_[next_];
  if (is_digit(c) || (c == '.' && next_ + 1 < text_.size() && is_digit(text_[next_ + 1])))
    return read_number();
  if (starts_name(c)) {
    while (next_ < text_.size() && continues_name(text_[next_])) ++next_;
    kind_ = Token::kName;
    token_ = text_.substr(start_, next_ - start_);
    return;
  }
  for (const std::string_view symbol : kSymbols) {
    if (!text_.substr(next_).starts_with(symbol)) continue;
    next_ += symbol.size();
    kind_ = Token::kSymbol;
    token_ = symbol;
    return;
  }
  size_t end = next_ + 1;  // a whole character, not its first byte
  while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xC0) == 0x80) ++end;
  const std::string_view found = text_.substr(next_, end - next_);
  throw ExpressionError{fmt::format("unexpected '{}'", found), spelling_of(found), start_};
}

void ExpressionParser::read_number() {
  size_t end = next_;
  const auto digits = [&] {
    while (end < text_.size() && is_digit(text_[end])) ++end;
  };
  digits();
  bool whole = true;
  if (end < text_.size() && text_[end] == '.') {
    whole = false;
    ++end;
    digits();
  }
  if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
    size_t exponent = end + 1;
    if (exponent < text_.size() && (text_[exponent] == '+' || text_[exponent] == '-')) ++exponent;
    if (exponent < text_.size() && is_digit(text_[exponent])) {
      whole = false;
      end = exponent;
      digits();
    }
  }
  token_ = text_.substr(next_, end - next_);
  if (end < text_.size() && continues_name(text_[end]))
    fail(fmt::format("malformed number '{}{}'", token_, text_[end]));
  std::from_chars_result read{};
  if (whole) {
    int64_t value = 0;
    read = std::from_chars(token_.data(), token_.data() + token_.size(), value);
    number_ = value;
  } else {
    double value = 0;
    read = std::from_chars(token_.data(), token_.data() + token_.size(), value);
    number_ = value;
  }
  if (read.ec != std::errc()) fail(fmt::format("the number {} is too large", token_));
  next_ = end;
  kind_ = Token::kNumber;
}

void ExpressionParser::disjunction() {
  conjunction();
  while (at("or")) {
    const size_t jump = emit(Code::kOr, start_);
    advance();
    conjunction();
    result_.code_[jump].index = result_.code_.size();
  }
}

void ExpressionParser::conjunction() {
  negation();
  while (at("and")) {
    const size_t jump = emit(Code::kAnd, start_);
    advance();
    negation();
    result_.code_[jump].index = result_.code_.size();
  }
}

void ExpressionParser::negation() {
  if (!at("not")) return comparison();
  const Level level(*this);
  const size_t offset = start_;
  advance();
  negation();
  emit(Code::kNot, offset);
}

void ExpressionParser::comparison() {
  sum();
  std::vector<std::string> operators;
  const size_t offset = start_;
  while (kind_ == Token::kSymbol && is_one_of(kComparisons, token_)) {
    operators.emplace_back(token_);
    advance();
    sum();
  }
  if (at("=")) throw ExpressionError{"unexpected '='", "'==' compares", start_};
  if (!operators.empty()) result_.code_[emit(Code::kCompare, offset)].comparisons = std::move(operators);
}

void ExpressionParser::sum() {
  product();
  while (at("+") || at("-")) {
    const Code code = at("+") ? Code::kAdd : Code::kSubtract;
    const size_t offset = start_;
    advance();
    product();
    emit(code, offset);
  }
}

void ExpressionParser::product() {
  sign();
  while (at("*") || at("/") || at("//") || at("%")) {
    const Code code = at("*")    ? Code::kMultiply
                      : at("/")  ? Code::kDivide
                      : at("//") ? Code::kFloorDivide
                                 : Code::kModulo;
    const size_t offset = start_;
    advance();
    sign();
    emit(code, offset);
  }
}

void ExpressionParser::sign() {
  if (!at("-") && !at("+")) return power();
  const Level level(*this);
  const Code code = at("-") ? Code::kNegate : Code::kPlus;
  const size_t offset = start_;
  advance();
  sign();
  emit(code, offset);
}

void ExpressionParser::power() {
  atom();
  if (!at("**")) return;
  const Level level(*this);
  const size_t offset = start_;
  advance();
  sign();
  emit(Code::kPower, offset);
}

void ExpressionParser::atom() {
  const size_t offset = start_;
  if (kind_ == Token::kNumber) {
    result_.code_[emit(Code::kNumber, offset)].number = number_;
    return advance();
  }
  if (kind_ == Token::kName && is_one_of(kFunctions, token_)) {
    const std::string_view function = token_;
    advance();
    return call(function, offset);
  }
  if (kind_ == Token::kName && !is_one_of(kWords, token_)) {
    result_.code_[emit(Code::kName, offset)].index = result_.names_.size();
    result_.names_.push_back({std::string(token_), offset});
    return advance();
  }
  if (!at("(")) fail(unexpected());
  const Level level(*this);
  advance();
  disjunction();
  expect(")");
}

void ExpressionParser::call(std::string_view function, size_t offset) {
  const Level level(*this);
  expect("(");
  size_t count = 1;
  disjunction();
  for (; take(","); ++count) disjunction();
  expect(")");
  const bool any_number = function == "min" || function == "max";
  if (!any_number && count != 1)
    throw ExpressionError{fmt::format("'{}' takes one number, found {}", function, count), "", offset};
  const Code code = function == "min"     ? Code::kMin
                    : function == "max"   ? Code::kMax
                    : function == "ceil"  ? Code::kCeil
                    : function == "floor" ? Code::kFloor
                    : function == "sqrt"  ? Code::kSqrt
                                          : Code::kLog;
  result_.code_[emit(code, offset)].index = count;
}

Expression Expression::parse(std::string_view text) {
  return ExpressionParser(text).parse();
}

}  // namespace mtfc
