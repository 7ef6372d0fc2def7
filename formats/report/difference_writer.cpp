#include "formats/report/difference_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "core/diagnostics/printable.h"
#include "core/program/repeated_names.h"
#include "formats/json/output_object.h"
#include "formats/report/report_figures.h"
#include "formats/report/report_writer.h"
#include "formats/text/quantity.h"
#include "formats/text/wrapped_text.h"

namespace mtfc {
namespace {

// Shorter differences of time are left out of the text: a thousandth of a step.
constexpr double kLeastShare = 1e-3;

// The figures that are compared: their keys, and where they stand in reports (formats/report/report_figures.h).
struct ComparedFigure {
  const char* key;  // `?` behind it: only where steps have predicted times
  const char* pointer;
};
constexpr ComparedFigure kCompared[] = {{"step_s?", "/time/step_s"},
                                        {"compute_s?", "/time/compute_s"},
                                        {"communication_s?", "/time/communication_s"},
                                        {"einsum_flops_per_device", "/flops/einsum_per_device"},
                                        {"other_flops_per_device", "/flops/other_per_device"},
                                        {"collectives", "/communication/count"},
                                        {"bytes_sent_per_device", "/communication/bytes_sent_per_device"},
                                        {"memory_per_device", "/memory/peak_bytes_per_device"},
                                        {"variables_per_device", "/memory/variables"},
                                        {"optimizer_state_per_device", "/memory/optimizer_state"}};

int64_t devices_of(const CostReport& report) {
  return report.layout.mesh.devices();
}

std::string change_text(double first, double second) {
  if (first == second) return "same";
  if (first == 0) return "new";
  if (second == 0) return "none";
  const double factor = second / first;
  if (factor >= 2) return fmt::format("x {:.3g}", factor);
  const double percent = 100 * (factor - 1);
  if (percent < -99.5) return "-99.9 %";  // not all of it
  return std::abs(percent) < 10 ? fmt::format("{:+.2g} %", percent) : fmt::format("{:+.0f} %", percent);
}

double number_of(const FigureValue& value) {
  return std::visit(
      []<typename T>(const T& number) {
        if constexpr (std::is_arithmetic_v<T>) return static_cast<double>(number);
        return 0.0;
      },
      value);
}

std::string figures_text(const ProgramDifference& difference) {
  const CostReport &a = difference.first, &b = difference.second;
  std::vector<std::vector<std::string>> rows = {
      {"", "A", "B", "B to A"},
      {"devices", grouped(devices_of(a)), grouped(devices_of(b)),
       change_text(static_cast<double>(devices_of(a)), static_cast<double>(devices_of(b)))}};
  for (const ComparedFigure& compared : kCompared) {
    const ReportFigure& figure = figure_at(compared.pointer);
    const auto first = figure.of(a), second = figure.of(b);
    if (first && second)
      rows.push_back({figure.label, figure_text(figure, a), figure_text(figure, b),
                      change_text(number_of(*first), number_of(*second))});
  }
  return columns(rows, 1);
}

// `B takes 12.4 ms longer: products +6.1 ms, all_reduce over cols +5.2 ms`.
std::string times_text(const ProgramDifference& difference, size_t width) {
  const CostReport &a = difference.first, &b = difference.second;
  if (!a.time || !b.time) return "";
  const double more = b.time->step_s - a.time->step_s;
  std::string items;
  for (const TimeDifference& item : time_differences(a, b)) {
    if (std::abs(item.seconds) < kLeastShare * a.time->step_s) continue;
    items += fmt::format("{}{} {}{}", items.empty() ? "" : ", ", printable(item.what),
                         item.seconds < 0 ? "-" : "+", seconds_text(std::abs(item.seconds)));
  }
  if (items.empty()) return "\nsteps of both take the same time\n";
  return "\n" + wrapped("",
                        fmt::format("a step of B takes {} {}: {}", seconds_text(std::abs(more)),
                                    more < 0 ? "less" : "longer", items),
                        " ", width);
}

std::string more_text(size_t count) {
  return count == 0 ? ""
                    : fmt::format("  and {} more; --top N lists N\n", grouped(static_cast<int64_t>(count)));
}

std::string shardings_text(const ShardingDifferences& differences, size_t width, size_t most) {
  if (differences.tensors.empty()) return "\nall tensors are split alike\n";
  std::string text = fmt::format("\nsplit differently: {} of {} tensors\n",
                                 grouped(static_cast<int64_t>(differences.differing)),
                                 grouped(static_cast<int64_t>(differences.compared)));
  const size_t count = std::min(most, differences.tensors.size());
  for (size_t i = 0; i < count; ++i) {
    const ShardingDifference& one = differences.tensors[i];
    const std::string head = "  " + printable(folded(one.tensors)) + "  ";
    const std::string forms = printable(one.first) + " -> " + printable(one.second);
    if (head.size() + forms.size() <= width)
      text += head + forms + "\n";
    else
      text += wrapped("", head, " ", width) + wrapped("      ", forms, " ", width);
  }
  return text + more_text(differences.tensors.size() - count);
}

std::string sums_text(const CollectiveSums& sums, const CostReport& report) {
  if (sums.count == 0) return "none";
  if (sums.count == 1) return bytes_in(report, sums.bytes);
  return sums.bytes % sums.count == 0
             ? fmt::format("{} x {}", grouped(sums.count), bytes_in(report, sums.bytes / sums.count))
             : fmt::format("{} in {}", bytes_in(report, sums.bytes), grouped(sums.count));
}

std::string collectives_text(const ProgramDifference& difference, size_t width, size_t most) {
  const std::vector<CollectiveDifference>& collectives = difference.collectives;
  size_t differing = 0;
  std::string text;
  for (const CollectiveDifference& one : collectives) {
    if (!one.differs() || ++differing > most) continue;
    text += wrapped("  ",
                    fmt::format("{} over {} of {}: {} -> {}", one.kind, printable(one.axes),
                                printable(folded(one.tensors)), sums_text(one.first, difference.first),
                                sums_text(one.second, difference.first)),
                    " ", width) +
            wrapped("      ", printable(one.moved), " ", width);
  }
  if (collectives.empty()) return "\nneither has collectives\n";
  if (differing == 0) return "\nboth have the same collectives\n";
  return "\ncollectives that differ, with the bytes that a device sends in A -> B\n" + text +
         more_text(differing - std::min(differing, most));
}

std::string layout_text(const CostReport& report) {
  const Mesh& mesh = report.layout.mesh;
  return (mesh.axes().empty() ? "one device" : printable(to_string(mesh))) + " " +
         printable(described(report.layout));
}

using namespace schema_parts;

OutputObject<CostReport>::Row figure_row(const ComparedFigure& compared) {
  const ReportFigure& figure = figure_at(compared.pointer);
  const std::string key(std::string_view(compared.key).substr(0, std::string_view(compared.key).find('?')));
  return {Json{{compared.key, figure_schema(figure)}}, [&figure, key](const CostReport& report) {
            Json json = Json::object();
            if (const auto found = figure.of(report))
              std::visit([&](const auto& value) { json[key] = value; }, *found);
            return json;
          }};
}

const OutputObject<CostReport> kComparedLayout = [] {
  std::vector<OutputObject<CostReport>::Row> rows = {
      {"mesh", reference("mesh"), [](const CostReport& report) { return json_of(report.layout.mesh); }},
      {"layout", text("for people"), [](const CostReport& report) { return described(report.layout); }},
      {"devices", whole(), devices_of}};
  for (const ComparedFigure& compared : kCompared) rows.push_back(figure_row(compared));
  return OutputObject<CostReport>(rows);
}();

const OutputObject<TimeDifference> kTimeDifference = {
    {"what", text(), &TimeDifference::what},
    {"seconds", real("that B takes longer"), &TimeDifference::seconds}};

const OutputObject<ShardingDifference> kShardingDifference = {
    {"tensors", texts("of repeated blocks"), &ShardingDifference::tensors},
    {"role", name_of<TensorRole>(), [](const ShardingDifference& one) { return to_string(one.role); }},
    {"a", text(), &ShardingDifference::first},
    {"b", text(), &ShardingDifference::second}};

const OutputObject<CollectiveSums> kCollectiveSums = {
    {"count", whole(), &CollectiveSums::count}, {"bytes_sent", whole("per device"), &CollectiveSums::bytes}};

const OutputObject<CollectiveDifference> kCollectiveDifference = {
    {"kind", name_of<CollectiveKind>(), &CollectiveDifference::kind},
    {"over", text("axes, as in rows+cols"), &CollectiveDifference::axes},
    {"tensors", texts(), &CollectiveDifference::tensors},
    {"moved", text("from which sharding to which"), &CollectiveDifference::moved},
    {"a", kCollectiveSums, &CollectiveDifference::first},
    {"b", kCollectiveSums, &CollectiveDifference::second}};

using Difference = const ProgramDifference&;

const OutputObject<ProgramDifference> kDifference = {
    {"mtfc_difference", version(), kFirstVersion},
    {"model", text(), [](Difference difference) { return difference.first.model; }},
    {"entry", text(), [](Difference difference) { return difference.first.entry; }},
    {"a", reference("figures"), [](Difference difference) { return kComparedLayout.json(difference.first); }},
    {"b", reference("figures"),
     [](Difference difference) { return kComparedLayout.json(difference.second); }},
    {"times", list_of(kTimeDifference.schema()),
     [](Difference difference) {
       const CostReport &a = difference.first, &b = difference.second;
       return a.time && b.time ? json_list(time_differences(a, b), kTimeDifference) : Json::array();
     }},
    {"shardings", list_of(kShardingDifference.schema()),
     [](Difference difference) { return json_list(difference.shardings.tensors, kShardingDifference); }},
    {"collectives", list_of(kCollectiveDifference.schema()),
     [](Difference difference) { return json_list(difference.collectives, kCollectiveDifference); }}};

}  // namespace

std::string difference_text(const ProgramDifference& difference, size_t width, size_t most) {
  const CostReport &a = difference.first, &b = difference.second;
  std::string text = fmt::format("{}, {}", printable(a.model), a.entry);
  if (a.time) text += ", on " + printable(a.time->hardware);
  text +=
      "\n" + wrapped("A  ", layout_text(a), ", ", width) + wrapped("B  ", layout_text(b), ", ", width) + "\n";
  return text + figures_text(difference) + times_text(difference, width) +
         shardings_text(difference.shardings, width, most) + collectives_text(difference, width, most);
}

std::string difference_json(const ProgramDifference& difference) {
  return dump_lines(kDifference.json(difference), 2);
}

std::string difference_schema() {
  return output_schema("mtfc diff", "What mtfc diff --format json prints", kDifference.schema(),
                       {{"figures", kComparedLayout.schema()}});
}

}  // namespace mtfc
