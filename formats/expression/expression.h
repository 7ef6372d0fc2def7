#pragma once
// Arithmetic in strings, such as `d_model // heads` or `max(1, 2 * n) ** -0.5`: numbers, names, parentheses,
// + - * / // % **, comparisons, `and`, `or`, `not`, min, max, ceil, floor and sqrt, with Python's precedence
// and meaning: / gives a real number, // and % round down, `and` and `or` stop early and return an operand.
// Integers are exact; leaving the range of int64_t is an error.

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
/// The value as an integer, if it is one and fits.
std::optional<int64_t> to_integer(const Number& number);
std::string to_string(const Number& number);

/// Thrown for text that is not an expression, and for an expression without a value; what() says why. `offset`
/// is in bytes of the text.
struct ExpressionError : Error {
  ExpressionError(const std::string& message, std::string advice, size_t at)
      : Error(message), hint(std::move(advice)), offset(at) {}
  /// True if a name in the expression has been reported already; what() is then empty.
  bool is_reported() const { return *what() == '\0'; }
  std::string hint;
  size_t offset;  // in the text, in bytes
};

/// The values of names.
struct NameLookup {
  std::function<std::optional<Number>(std::string_view)> find;
  std::function<std::vector<std::string>()> known;  // all names, for "did you mean"
};
/// Looks up the sizes of dimensions by name.
NameLookup lookup_of(const Dims& dims);

/// Returns whether `name` may name a dimension or a parameter: letters, digits and _, and not a word of the
/// language.
bool is_expression_name(std::string_view name);

class Expression {
 public:
  struct NameUse {
    std::string name;
    size_t offset;
  };

  /// Throws ExpressionError, also for nesting deeper than kDeepest.
  static Expression parse(std::string_view text);
  static constexpr int kDeepest = 100;

  const std::vector<NameUse>& names() const { return names_; }
  /// Throws ExpressionError for an unknown name, a division by zero, or a result that is too large or not
  /// real.
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
    kCompare,  // compares the last operands by `comparisons`
    kAnd,
    kOr,  // keep the operand and jump to `index`, or drop it and go on
    kMin,
    kMax,  // over the last `index` operands
    kCeil,
    kFloor,
    kSqrt,
    kLog,
  };
  struct Instruction {
    Code code;
    size_t offset;
    Number number = int64_t{0};
    size_t index = 0;
    std::vector<std::string> comparisons = {};
  };
  class Machine;

  std::vector<Instruction> code_;  // postfix, so evaluation needs no recursion
  std::vector<NameUse> names_;
};

/// Parses and evaluates.
Number evaluate(std::string_view text, const NameLookup& lookup);

}  // namespace mtfc
