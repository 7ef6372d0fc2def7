#include "formats/report/metrics_writer.h"

#include "formats/json/json_value.h"
#include "formats/json/ordered_json.h"

namespace mtfc {

double to_double(const RunNumber& number) {
  return std::visit([](auto value) { return static_cast<double>(value); }, number);
}

std::vector<NamedNumber> named(const StepFigures& figures) {
  std::vector<NamedNumber> all = {{"step_time", figures.step_time},
                                  {"samples_per_second", figures.samples_per_second}};
  if (figures.learning_rate) all.emplace_back("learning_rate", *figures.learning_rate);
  if (figures.tokens_per_second) all.emplace_back("tokens_per_second", *figures.tokens_per_second);
  if (figures.mfu) all.emplace_back("mfu", *figures.mfu);
  all.emplace_back("wall_time", figures.wall_time);
  return all;
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
