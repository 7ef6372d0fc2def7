#pragma once
// Arithmetic in strings, such as `d_model // heads` or `max(1, 2 * n) ** -0.5`. Numbers,
// names, + - * / // % **, comparisons, and or not, parentheses, min max ceil floor sqrt, with Python's
// precedence and meaning: / gives a real number, // and % round down, `and` and `or` stop early and give an
// operand. Whole numbers are exact; beyond int64_t they are an error.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/diagnostics/error.h"
#include "core/tensors/shape.h"

namespace mtfc {

using Number = std::variant<int64_t, double>;  // a double is always finite
double to_double(const Number& number);
/// The value as a whole number, if it is one and fits.
std::optional<int64_t> to_integer(const Number& number);
std::string to_string(const Number& number);

/// Thrown for text that is no expression, and for one that has no value; what() says why.
struct ExpressionError : Error {
  ExpressionError(const std::string& message, std::string advice, size_t at)
      : Error(message), hint(std::move(advice)), offset(at) {}
  /// A name that the expression uses has been reported already; what() is then empty.
  bool is_reported() const { return *what() == '\0'; }
  std::string hint;
  size_t offset;  // in the text, in bytes
};

/// What names mean.
struct NameLookup {
  std::function<std::optional<Number>(std::string_view)> find;
  std::vector<std::string> known;  // for "did you mean"
};
/// The dimensions' sizes by name.
NameLookup lookup_of(const Dims& dims);

/// Whether `name` may name a dimension or a parameter: letters, digits and _, and no word of the language.
bool is_expression_name(std::string_view name);

class Expression {
 public:
  struct NameUse {
    std::string name;
    size_t offset;
  };

  /// Throws ExpressionError; nesting deeper than kDeepest is one.
  static Expression parse(std::string_view text);
  static constexpr int kDeepest = 100;

  const std::vector<NameUse>& names() const { return names_; }
  /// Throws ExpressionError: an unknown name, a division by zero, a result that is too large or not real.
  Number evaluate(const NameLookup& lookup) const;

 private:
  friend class ExpressionParser;
  enum class Code {
    kNumber,
    kName,
    kNegate,
    kPlus,
    kNot,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kFloorDivide,
    kModulo,
    kPower,
    kCompare,  // the last operands by the comparisons of `comparisons`
    kAnd,
    kOr,  // keep the operand and jump to `index`, or drop it and go on
    kMin,
    kMax,  // of the last `index` operands
    kCeil,
    kFloor,
    kSqrt,
  };
  struct Instruction {
    Code code;
    size_t offset;
    Number number = int64_t{0};
    size_t index = 0;
    std::vector<std::string> comparisons = {};
  };
  class Machine;

  std::vector<Instruction> code_;  // postfix, so that evaluation needs no recursion
  std::vector<NameUse> names_;
};

/// Parses and evaluates.
Number evaluate(std::string_view text, const NameLookup& lookup);

}  // namespace mtfc
