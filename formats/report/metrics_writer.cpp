#include "formats/report/metrics_writer.h"

#include <algorithm>
#include <iterator>

#include "formats/json/json_value.h"
#include "formats/json/ordered_json.h"
#include "formats/json/schema_parts.h"

namespace mtfc {

double to_double(const RunNumber& number) {
  return std::visit([](auto value) { return static_cast<double>(value); }, number);
}

namespace {

using Numbers = const StepFigures&;

struct StepFigure {
  const char* name;
  const char* meaning;
  std::optional<double> (*of)(Numbers);  // nothing where a line may lack it
};
constexpr StepFigure kStepFigures[] = {
    {"step_time", "seconds", [](Numbers figures) { return std::optional(figures.step_time); }},
    {"samples_per_second", "", [](Numbers figures) { return std::optional(figures.samples_per_second); }},
    {"learning_rate", "", [](Numbers figures) { return figures.learning_rate; }},
    {"tokens_per_second", "", [](Numbers figures) { return figures.tokens_per_second; }},
    {"mfu", "a fraction of 1", [](Numbers figures) { return figures.mfu; }},
    {"wall_time", "seconds since the process began",
     [](Numbers figures) { return std::optional(figures.wall_time); }}};

}  // namespace

std::vector<NamedNumber> named(const StepFigures& figures) {
  std::vector<NamedNumber> all;
  for (const StepFigure& figure : kStepFigures)
    if (const std::optional<double> value = figure.of(figures)) all.emplace_back(figure.name, *value);
  return all;
}

bool is_metrics_key(std::string_view name) {
  return name == "step" || std::any_of(std::begin(kStepFigures), std::end(kStepFigures),
                                       [&](const StepFigure& figure) { return figure.name == name; });
}

std::string metrics_schema() {
  using namespace schema_parts;
  Json keys = {{"step", whole("the steps so far")}};
  for (const StepFigure& figure : kStepFigures)
    keys[figure.name + std::string(figure.of({}) ? "" : "?")] = real(figure.meaning);
  Json line = record(keys);
  line["additionalProperties"] = {{"type", {"number", "null"}},
                                  {"description", "an output of the model, such as loss, or valid/loss"}};
  return output_schema("mtfc run --metrics", "A line of the file that mtfc run --metrics writes", line);
}

std::string metrics_line(int64_t step, const std::vector<NamedNumber>& outputs, const StepFigures& figures) {
  Json line;
  line["step"] = step;
  const auto add = [&](const std::vector<NamedNumber>& numbers) {
    for (const auto& [name, value] : numbers)
      if (const bool* truth = std::get_if<bool>(&value))
        line[name] = *truth ? 1 : 0;
      else
        std::visit([&, &key = name](auto number) { line[key] = number; }, value);
  };
  add(outputs);
  add(named(figures));
  return line.dump();
}

bool begins_metrics(const std::string& text) {
  constexpr std::string_view kBeginning = "{\"step\":";
  return text.starts_with(kBeginning) || kBeginning.starts_with(text);
}

std::optional<int64_t> metrics_step(const std::string& line) {
  const std::optional<JsonValue> json = find_json(line);
  const JsonValue* step = json && json->kind == JsonKind::kObject ? json->find("step") : nullptr;
  return step && step->kind == JsonKind::kNumber ? step->integer() : std::nullopt;
}

}  // namespace mtfc
