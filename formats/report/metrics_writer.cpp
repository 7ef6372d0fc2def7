#include "formats/report/metrics_writer.h"

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

std::optional<int64_t> metrics_step(const std::string& line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("step") || !json["step"].is_number_integer()) return std::nullopt;
  return json["step"].get<int64_t>();
}

}  // namespace mtfc
