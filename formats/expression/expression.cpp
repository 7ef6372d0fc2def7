#include "formats/expression/expression.h"

#include <fmt/format.h>

#include <cmath>

#include "core/diagnostics/error.h"
#include "core/diagnostics/suggest.h"

namespace mtfc {
namespace {

// The remainder, with the sign of the divisor.
double floor_modulo(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

}  // namespace

double to_double(const Number& number) {
  return std::visit([](auto value) { return static_cast<double>(value); }, number);
}

std::optional<int64_t> to_integer(const Number& number) {
  if (const int64_t* whole = std::get_if<int64_t>(&number)) return *whole;
  const double real = std::get<double>(number);
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (std::floor(real) != real || real < -kLimit || real >= kLimit) return std::nullopt;
  return static_cast<int64_t>(real);
}

std::string to_string(const Number& number) {
  return std::visit([](auto value) { return fmt::format("{}", value); }, number);
}

NameLookup lookup_of(const Dims& dims) {
  NameLookup lookup;
  lookup.known = [dims] {
    std::vector<std::string> names;
    for (const Dim& dim : dims) names.push_back(dim.name);
    return names;
  };
  lookup.find = [dims](std::string_view name) -> std::optional<Number> {
    const int at = position(dims, name);
    if (at < 0) return std::nullopt;
    return dims[static_cast<size_t>(at)].size;
  };
  return lookup;
}

// The stack and the arithmetic of one evaluation.
class Expression::Machine {
 public:
  Number run(const Expression& expression, const NameLookup& lookup);

 private:
  void step(const Instruction& instruction);
  void binary(const Instruction& instruction);
  double real_function(const Instruction& instruction, double value);
  void compare(const Instruction& instruction);
  Number arithmetic(const Instruction& at, const Number& a, const Number& b) const;
  Number whole_arithmetic(const Instruction& at, int64_t a, int64_t b) const;
  Number whole_power(const Instruction& at, int64_t base, int64_t exponent) const;
  Number real_arithmetic(const Instruction& at, double a, double b) const;

  [[noreturn]] static void fail(const Instruction& at, std::string message) {
    throw ExpressionError{std::move(message), "", at.offset};
  }
  static Number real(const Instruction& at, double value) {
    if (std::isnan(value)) fail(at, "the result is not a real number");
    if (std::isinf(value)) fail(at, "the result is too large");
    return value;
  }
  static bool is_true(const Number& number) { return to_double(number) != 0; }
  Number pop() {
    const Number top = stack_.back();
    stack_.pop_back();
    return top;
  }

  std::vector<Number> stack_;
};

Number Expression::Machine::run(const Expression& expression, const NameLookup& lookup) {
  for (size_t i = 0; i < expression.code_.size(); ++i) {
    const Instruction& instruction = expression.code_[i];
    if (instruction.code == Code::kName) {
      const NameUse& use = expression.names_[instruction.index];
      const std::optional<Number> value = lookup.find ? lookup.find(use.name) : std::nullopt;
      if (!value)
        throw ExpressionError{
            fmt::format("unknown param or dimension '{}'", use.name),
            did_you_mean(use.name, lookup.known ? lookup.known() : std::vector<std::string>()), use.offset};
      stack_.push_back(*value);
    } else if (instruction.code == Code::kAnd || instruction.code == Code::kOr) {
      if (is_true(stack_.back()) == (instruction.code == Code::kOr))
        i = instruction.index - 1;
      else
        stack_.pop_back();
    } else {
      step(instruction);
    }
  }
  check_invariant(stack_.size() == 1, "an expression leaves one value");
  return stack_.back();
}

void Expression::Machine::step(const Instruction& instruction) {
  switch (instruction.code) {
    case Code::kNumber:
      stack_.push_back(instruction.number);
      return;
    case Code::kPlus:
      return;
    case Code::kNegate: {
      const Number value = pop();
      const int64_t* whole = std::get_if<int64_t>(&value);
      stack_.push_back(whole ? whole_arithmetic({Code::kSubtract, instruction.offset}, 0, *whole)
                             : Number(-std::get<double>(value)));
      return;
    }
    case Code::kNot:
      stack_.push_back(int64_t{!is_true(pop())});
      return;
    case Code::kCompare:
      return compare(instruction);
    case Code::kMin:
    case Code::kMax: {
      Number best = pop();
      for (size_t i = 1; i < instruction.index; ++i) {
        const Number other = pop();
        const bool less = to_double(other) < to_double(best);
        const bool same = to_double(other) == to_double(best);
        if (same || less == (instruction.code == Code::kMin)) best = other;
      }
      stack_.push_back(best);
      return;
    }
    case Code::kCeil:
    case Code::kFloor: {
      const Number value = pop();
      if (std::holds_alternative<int64_t>(value)) return stack_.push_back(value);
      const double real = std::get<double>(value);
      const auto whole = to_integer(instruction.code == Code::kCeil ? std::ceil(real) : std::floor(real));
      if (!whole) fail(instruction, "the result is too large");
      return stack_.push_back(*whole);
    }
    case Code::kSqrt:
    case Code::kLog:
      return stack_.push_back(real_function(instruction, to_double(pop())));
    default:
      return binary(instruction);
  }
}

double Expression::Machine::real_function(const Instruction& instruction, double value) {
  if (instruction.code == Code::kSqrt) {
    if (value < 0)
      fail(instruction, fmt::format("can't take the square root of {}, which is negative", value));
    return std::sqrt(value);
  }
  if (value <= 0)
    fail(instruction, fmt::format("can't take the logarithm of {}, which is not above 0", value));
  return std::log(value);
}

void Expression::Machine::binary(const Instruction& instruction) {
  const Number b = pop();
  const Number a = pop();
  stack_.push_back(arithmetic(instruction, a, b));
}

void Expression::Machine::compare(const Instruction& instruction) {
  const size_t count = instruction.comparisons.size() + 1;
  const std::vector<Number> operands(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
  stack_.resize(stack_.size() - count);
  bool holds = true;
  for (size_t i = 0; i + 1 < count; ++i) {
    const std::string& sign = instruction.comparisons[i];
    const int64_t* whole_a = std::get_if<int64_t>(&operands[i]);
    const int64_t* whole_b = std::get_if<int64_t>(&operands[i + 1]);
    const double a = to_double(operands[i]), b = to_double(operands[i + 1]);
    const bool less = whole_a && whole_b ? *whole_a < *whole_b : a < b;
    const bool same = whole_a && whole_b ? *whole_a == *whole_b : a == b;
    holds = holds && (sign == "=="   ? same
                      : sign == "!=" ? !same
                      : sign == "<"  ? less
                      : sign == "<=" ? less || same
                      : sign == ">"  ? !less && !same
                                     : !less);
  }
  stack_.push_back(int64_t{holds});
}

Number Expression::Machine::arithmetic(const Instruction& at, const Number& a, const Number& b) const {
  const bool divides = at.code == Code::kDivide || at.code == Code::kFloorDivide || at.code == Code::kModulo;
  if (divides && to_double(b) == 0) fail(at, "division by zero");
  const int64_t* whole_a = std::get_if<int64_t>(&a);
  const int64_t* whole_b = std::get_if<int64_t>(&b);
  if (whole_a && whole_b && at.code != Code::kDivide) return whole_arithmetic(at, *whole_a, *whole_b);
  return real_arithmetic(at, to_double(a), to_double(b));
}

Number Expression::Machine::whole_arithmetic(const Instruction& at, int64_t a, int64_t b) const {
  int64_t result = 0;
  bool overflow = false;
  switch (at.code) {
    case Code::kAdd:
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case Code::kSubtract:
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case Code::kMultiply:
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    case Code::kFloorDivide:
      if (b == -1)
        overflow = __builtin_sub_overflow(int64_t{0}, a, &result);
      else
        result = a / b - (a % b != 0 && (a < 0) != (b < 0));
      break;
    case Code::kModulo:
      if (b != -1) result = a % b;
      if (result != 0 && (result < 0) != (b < 0)) result += b;
      break;
    case Code::kPower:
      return whole_power(at, a, b);
    default:
      throw InternalError("an operator of expressions is not known");
  }
  if (overflow) fail(at, "the result is too large for a whole number");
  return result;
}

Number Expression::Machine::whole_power(const Instruction& at, int64_t base, int64_t exponent) const {
  if (exponent < 0) return real_arithmetic(at, static_cast<double>(base), static_cast<double>(exponent));
  int64_t result = 1;
  while (exponent > 0) {
    if (exponent % 2 == 1 && __builtin_mul_overflow(result, base, &result))
      fail(at, "the result is too large for a whole number");
    exponent /= 2;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base))
      fail(at, "the result is too large for a whole number");
  }
  return result;
}

Number Expression::Machine::real_arithmetic(const Instruction& at, double a, double b) const {
  switch (at.code) {
    case Code::kAdd:
      return real(at, a + b);
    case Code::kSubtract:
      return real(at, a - b);
    case Code::kMultiply:
      return real(at, a * b);
    case Code::kDivide:
      return real(at, a / b);
    case Code::kFloorDivide: {
      // As in Python: floor(1.0 / 0.1) would be 10, but 1.0 // 0.1 is 9.
      const double quotient = (a - floor_modulo(a, b)) / b;
      return real(at, std::floor(quotient) + (quotient - std::floor(quotient) > 0.5 ? 1 : 0));
    }
    case Code::kModulo:
      return real(at, floor_modulo(a, b));
    case Code::kPower:
      if (a == 0 && b < 0) fail(at, "division by zero");
      return real(at, std::pow(a, b));
    default:
      throw InternalError("an operator of expressions is not known");
  }
}

Number Expression::evaluate(const NameLookup& lookup) const {
  return Machine().run(*this, lookup);
}

Number evaluate(std::string_view text, const NameLookup& lookup) {
  return Expression::parse(text).evaluate(lookup);
}

}  // namespace mtfc
