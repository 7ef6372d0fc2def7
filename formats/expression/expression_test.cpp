#include "formats/expression/expression.h"

#include <doctest/doctest.h>

#include <string>

namespace mtfc::expression_test {

namespace {

const NameLookup kNames = lookup_of(Dims{{"d_model", 512}, {"heads", 8}, {"n", 7}});

std::string value(std::string_view text) {
  return to_string(evaluate(text, kNames));
}

std::string complaint(std::string_view text) {
  try {
    return "comes out " + value(text);
  } catch (const ExpressionError& error) {
    return std::to_string(error.offset) + ": " + error.what() +
           (error.hint.empty() ? "" : " (" + error.hint + ")");
  }
}

}  // namespace

TEST_CASE("precedence and meaning are Python's") {
  CHECK(value("1 + 2 * 3") == "7");
  CHECK(value("-2 ** 2") == "-4");
  CHECK(value("2 ** -1") == "0.5");
  CHECK(value("2 ** 3 ** 2") == "512");
  CHECK(value("10 - 4 - 3") == "3");
  CHECK(value("7 // 2") == "3");
  CHECK(value("-7 // 2") == "-4");
  CHECK(value("-7 % 3") == "2");
  CHECK(value("7 % -3") == "-2");
  CHECK(value("-7.5 % 2") == "0.5");
  CHECK(value("1.0 // 0.1") == "9");
  CHECK(value("7 / 2") == "3.5");
  CHECK(value("d_model / heads") == "64");
  CHECK(value("(d_model // 2) ** -0.5") == "0.0625");
  CHECK(value("1 < 2 < 3") == "1");
  CHECK(value("1 < 3 < 2") == "0");
  CHECK(value("not n == 7") == "0");
  CHECK(value("0 or 5 and 6") == "6");
  CHECK(value("n and 0 or 3") == "3");
  CHECK(value("not 1 or 1") == "1");
  CHECK(value("min(3, 2.5, n)") == "2.5");
  CHECK(value("max(3, n)") == "7");
  CHECK(value("ceil(7 / 2) + floor(-0.5) + sqrt(16)") == "7");
  CHECK(value("(1 + 2) * 3 != 9") == "0");
  CHECK(value(".5 + 5. + 1e1") == "15.5");
  CHECK(value("9007199254740993 + 0") == "9007199254740993");
}

TEST_CASE("and and or stop early") {
  CHECK(value("n == 0 or 10 // n") == "1");
  CHECK(value("0 and 1 // 0") == "0");
  CHECK(value("1 or 1 // 0") == "1");
}

TEST_CASE("what is wrong is located") {
  CHECK(complaint("1 +") == "3: the expression ends too early");
  CHECK(complaint("") == "0: the expression is empty");
  CHECK(complaint("1 2") == "2: unexpected '2'");
  CHECK(complaint("(1") == "2: ')' is missing");
  CHECK(complaint("(1]") == "2: unexpected ']'");
  CHECK(complaint("2 * hads") == "4: unknown param or dimension 'hads' (did you mean 'heads'?)");
  CHECK(complaint("1 = 1") == "2: unexpected '=' ('==' compares)");
  CHECK(value("log(8) / log(2)") == "3");
  CHECK(complaint("log(0)") == "0: can't take the logarithm of 0, which is not above 0");
  CHECK(complaint("sqrt(1, 2)") == "0: 'sqrt' takes one number, found 2");
  CHECK(complaint("sqrt") == "4: '(' is missing");
  CHECK(complaint("2é") == "1: unexpected 'é'");
  CHECK(complaint("1 2x") == "2: malformed number '2x'");
  CHECK(complaint("1 == not 0") == "5: unexpected 'not'");
  CHECK(complaint("99999999999999999999") == "0: the number 99999999999999999999 is too large");
}

TEST_CASE("values that do not exist are errors") {
  CHECK(complaint("1 / 0") == "2: division by zero");
  CHECK(complaint("1.5 % 0") == "4: division by zero");
  CHECK(complaint("0 ** -1") == "2: division by zero");
  CHECK(complaint("2 ** 63") == "2: the result is too large for a whole number");
  CHECK(complaint("-(-9223372036854775807 - 1)") == "0: the result is too large for a whole number");
  CHECK(complaint("(-9223372036854775807 - 1) // -1") == "27: the result is too large for a whole number");
  CHECK(complaint("(-9223372036854775807 - 1) % -1") == "comes out 0");
  CHECK(complaint("1e308 * 10") == "6: the result is too large");
  CHECK(complaint("(-8) ** 0.5") == "5: the result is not a real number");
  CHECK(complaint("sqrt(-1)") == "0: can't take the square root of -1, which is negative");
  CHECK(complaint("ceil(1e30)") == "0: the result is too large");
}

TEST_CASE("nesting is limited, length is not") {
  CHECK(complaint(std::string(100000, '(')) == "100: the expression nests more than 100 deep");
  CHECK(complaint(std::string(100000, '-') + "1") == "100: the expression nests more than 100 deep");
  std::string sum = "1";
  for (int i = 0; i < 99999; ++i) sum += "+1";
  CHECK(value(sum) == "100000");
}

}  // namespace mtfc::expression_test
