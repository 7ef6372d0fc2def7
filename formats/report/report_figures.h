#pragma once
// The figures of a cost report, a row each. The table for people, CSV, JSON and its schema take them from here, so that
// a new figure is a new row. They come in groups, as objects of the JSON; the groups may come in any order.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "core/cost/cost.h"
#include "formats/json/ordered_json.h"

namespace mtfc {

/// How people read a figure. The type of its value goes with it: a whole number, a real one, or a text.
enum class FigureUnit {
  kCount,     // whole: all digits
  kElements,  // whole: 6.84 M
  kFlops,     // whole: 4.61 GFLOP
  kBytes,     // whole: in the unit of the device's memory
  kFlag,      // yes or no
  kSeconds,   // real: 78.4 ms
  kDuration,  // real: 3.2 days
  kAmount,    // real: rounded to a whole number
  kRatio,     // real: three digits
  kShare,     // real: percent
  kName,      // text
};

using FigureValue = std::variant<int64_t, double, bool, std::string>;

struct ReportFigure {
  const char* pointer;  // in the JSON of a report, `/time/step_s`; "" where it is not there
  const char* column;   // of CSV; "" for none
  const char* label;    // of its line in the table, indented below another line; "" for none
  const char* head;     // where a layout has a single line; "" for none
  FigureUnit unit;
  const char* meaning;  // in the schema; "" where the name says it
  /// Nothing, where the report does not have it.
  std::optional<FigureValue> (*of)(const CostReport&);
  bool is_optional = false;  // in its group
};

std::span<const ReportFigure> report_figures();
/// The figures of a group: the object that has them in the JSON, such as `time`.
std::span<const ReportFigure> figures_of(std::string_view group);
/// The figure at a pointer. Throws InternalError where there is none.
const ReportFigure& figure_at(std::string_view pointer);

/// As people read it; `-` where the report does not have it.
std::string figure_text(const ReportFigure& figure, const CostReport& report);
/// All digits; "" where the report does not have it.
std::string figure_digits(const ReportFigure& figure, const CostReport& report);
/// The object with the group's figures that the report has.
Json figures_object(std::string_view group, const CostReport& report);
/// The keys of such an object, with the schemas of their values; `?` ends a key that it may lack.
Json figure_schemas(std::string_view group);
Json figure_schema(const ReportFigure& figure);

}  // namespace mtfc
