#include "formats/report/metrics_writer.h"

#include "formats/json/json_value.h"
#include "formats/json/ordered_json.h"

namespace mtfc {

std::string metrics_line(int64_t step, const std::vector<std::pair<std::string, double>>& outputs,
                         double step_seconds, double samples_per_second) {
  Json line;
  line["step"] = step;
  for (const auto& [name, value] : outputs) line[name] = value;
  line["step_time"] = step_seconds;
  line["samples_per_second"] = samples_per_second;
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
