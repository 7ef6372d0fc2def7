#include <fmt/format.h>

#include <cmath>

#include "core/diagnostics/suggest.h"
#include "formats/expression/number_reader.h"
#include "formats/model/literal.h"
#include "formats/model/part_readers.h"
#include "formats/model/type_reader.h"
#include "formats/reference/foreign_names.h"

namespace mtfc {
namespace {

// The standard deviation of a standard normal distribution cut off at two standard deviations.
constexpr double kTruncatedDeviation = 0.87962566103423978;

const std::vector<std::string> kDistributions = {"normal", "truncated_normal", "uniform", "variance_scaling"};

std::optional<Init> read_constant(const Cursor& at, double value, DType dtype) {
  if (const auto problem = literal_problem(value, dtype)) {
    at.error(problem->what(), problem->hint);
    return std::nullopt;
  }
  return Init{InitKind::kConstant, value, 0};
}

// Reads a number that the variable's dtype can hold.
std::optional<double> read_value(const Cursor& at, DType dtype, const ModelScope& scope) {
  const std::optional<double> value = read_real(at, scope.lookup());
  const auto problem = value ? literal_problem(*value, dtype) : std::nullopt;
  if (problem) at.error(problem->what(), problem->hint);
  return problem ? std::nullopt : value;
}

std::optional<Init> read_deviation(const Cursor& at, InitKind kind, DType dtype, const ModelScope& scope) {
  const std::optional<double> deviation = read_value(at, dtype, scope);
  if (!deviation) return std::nullopt;
  if (*deviation < 0) {
    at.error(fmt::format("a standard deviation must not be negative, but is {}", *deviation));
    return std::nullopt;
  }
  return Init{kind, *deviation, 0};
}

std::optional<Init> read_uniform(const Cursor& at, DType dtype, const ModelScope& scope) {
  if (!at.is(JsonKind::kArray) || at.value().items.size() != 2) {
    if (at.is(JsonKind::kArray))
      at.error(fmt::format("expected two bounds, found {}", at.value().items.size()));
    else
      at.expected("a list of two bounds");
    return std::nullopt;
  }
  const std::optional<double> low = read_value(at.item(0), dtype, scope);
  const std::optional<double> high = read_value(at.item(1), dtype, scope);
  if (!low || !high) return std::nullopt;
  if (*low > *high) {
    at.error(fmt::format("the lower bound {} exceeds the upper bound {}", *low, *high));
    return std::nullopt;
  }
  if (literal_problem(*high - *low, dtype)) {
    at.error(fmt::format("the bounds {} and {} are too far apart for {}", *low, *high, to_string(dtype)));
    return std::nullopt;
  }
  return Init{InitKind::kUniform, *low, *high};
}

double fan(const Dims& dims) {
  double product = 1;
  for (const Dim& dim : dims) product *= static_cast<double>(dim.size);
  return product;
}

std::optional<double> read_fan(const Cursor& at, const TensorType& type, const ModelScope& scope) {
  const size_t before = at.sink().error_count();
  std::string mode = "fan_in";
  if (const auto cursor = at.find("mode")) {
    mode = cursor->string().value_or(mode);
    if (mode != "fan_in" && mode != "fan_out" && mode != "fan_avg") {
      const std::string hint = did_you_mean(mode, {"fan_in", "fan_out", "fan_avg"});
      cursor->error(fmt::format("unknown mode '{}'", mode),
                    hint.empty() ? "modes are fan_in, fan_out, fan_avg" : hint);
    }
  }
  Dims in;
  if (const auto cursor = at.require("in")) {
    in = read_dims(*cursor, scope, false).value_or(Dims{});
    for (size_t i = 0; i < in.size(); ++i)
      if (!contains(type.dims, in[i].name))
        cursor->item(i).error(fmt::format("the variable has no dimension '{}'", in[i].name));
  }
  if (at.sink().error_count() > before) return std::nullopt;
  const double fan_in = fan(in), fan_out = fan(without(type.dims, in));
  return mode == "fan_in" ? fan_in : mode == "fan_out" ? fan_out : (fan_in + fan_out) / 2;
}

std::optional<Init> read_variance_scaling(const Cursor& at, const TensorType& type, const ModelScope& scope) {
  if (!at.check_keys({"scale", "mode", "in", "doc"})) return std::nullopt;
  const size_t before = at.sink().error_count();
  double scale = 1;
  if (const auto cursor = at.find("scale")) {
    scale = read_real(*cursor, scope.lookup()).value_or(1);
    if (scale < 0) cursor->error(fmt::format("'scale' must not be negative, but is {}", scale));
  }
  const std::optional<double> fan = read_fan(at, type, scope);
  if (!fan || at.sink().error_count() > before) return std::nullopt;
  const double deviation = std::sqrt(scale / *fan) / kTruncatedDeviation;
  if (literal_problem(deviation, type.dtype)) {
    at.error(fmt::format("the standard deviation evaluates to {}, which is out of the range of {}", deviation,
                         to_string(type.dtype)));
    return std::nullopt;
  }
  return Init{InitKind::kTruncatedNormal, deviation, 0};
}

std::optional<Init> read_distribution(const Cursor& at, const TensorType& type, const ModelScope& scope) {
  if (!at.check_keys(kDistributions)) return std::nullopt;
  if (at.value().members.size() != 1) {
    at.error(fmt::format("expected one distribution, found {}", at.value().members.size()));
    return std::nullopt;
  }
  if (!is_float(type.dtype)) {
    at.error(fmt::format("a variable of type {} can't start with random numbers", to_string(type.dtype)));
    return std::nullopt;
  }
  const NamedCursor only = at.members().front();
  if (only.key == "normal") return read_deviation(only.value, InitKind::kNormal, type.dtype, scope);
  if (only.key == "truncated_normal")
    return read_deviation(only.value, InitKind::kTruncatedNormal, type.dtype, scope);
  if (only.key == "uniform") return read_uniform(only.value, type.dtype, scope);
  if (only.key == "variance_scaling") return read_variance_scaling(only.value, type, scope);
  return std::nullopt;  // an unknown key, already reported
}

}  // namespace

std::optional<Init> read_init(const Cursor& at, const TensorType& type, const ModelScope& scope) {
  if (at.is(JsonKind::kNumber)) return read_constant(at, at.value().number(), type.dtype);
  if (at.is(JsonKind::kObject)) return read_distribution(at, type, scope);
  const std::optional<std::string> word = at.string("a number, \"zeros\", \"ones\" or a distribution");
  if (!word) return std::nullopt;
  if (*word == "zeros") return Init{InitKind::kConstant, 0, 0};
  if (*word == "ones") return Init{InitKind::kConstant, 1, 0};
  if (scope.is_known(*word) || !is_expression_name(*word)) {
    const std::optional<double> value = read_real(at, scope.lookup());
    return value ? read_constant(at, *value, type.dtype) : std::nullopt;
  }
  std::string hint = foreign_hint(ForeignKind::kInit, *word);
  if (hint.empty()) hint = did_you_mean(*word, {"zeros", "ones"});
  if (hint.empty())
    hint = "a number, \"zeros\", \"ones\", or an object with " +
           fmt::format("{}", fmt::join(kDistributions, ", "));
  at.error(fmt::format("unknown init '{}'", *word), hint);
  return std::nullopt;
}

}  // namespace mtfc
