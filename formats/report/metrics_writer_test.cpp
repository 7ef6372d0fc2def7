#include "formats/report/metrics_writer.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "formats/json/json_value.h"

namespace mtfc::metrics_writer_test {

TEST_CASE("outputs can't have the names of the other keys of a line") {
  const JsonValue line = parse_json(metrics_line(3, {}, 0.5, 2), "");
  CHECK(line.members.size() == kMetricsKeys.size());
  for (const JsonMember& member : line.members)
    CHECK(std::count(kMetricsKeys.begin(), kMetricsKeys.end(), member.key) == 1);
}

TEST_CASE("every beginning of a line is known as one") {
  const std::string line = metrics_line(3, {{"loss", 0.5}}, 0.5, 2);
  for (size_t length = 0; length <= line.size(); ++length) CHECK(begins_metrics(line.substr(0, length)));
  CHECK_FALSE(begins_metrics("{\"mtfc\": 1}"));
  CHECK_FALSE(begins_metrics("notes"));
  CHECK(metrics_step(line) == 3);
}

}  // namespace mtfc::metrics_writer_test
