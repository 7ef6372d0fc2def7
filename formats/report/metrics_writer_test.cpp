#include "formats/report/metrics_writer.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "formats/json/json_value.h"

namespace mtfc::metrics_writer_test {

TEST_CASE("outputs can't have the names of the other keys of a line") {
  const JsonValue line = parse_json(metrics_line(3, {}, {0.5, 2, 0.1, 8, 0.25, 1}), "");
  CHECK(line.members.size() == 7);
  for (const JsonMember& member : line.members) CHECK(is_metrics_key(member.key));
}

TEST_CASE("a line has the figures that are known") {
  CHECK(metrics_line(3, {{"loss", 0.5}}, {0.5, 2, {}, {}, {}, 1}) ==
        R"({"step":3,"loss":0.5,"step_time":0.5,"samples_per_second":2.0,"wall_time":1.0})");
  CHECK(metrics_line(3, {}, {0.5, 2, 0.125, 8, 0.25, 1}) ==
        R"({"step":3,"step_time":0.5,"samples_per_second":2.0,"learning_rate":0.125,)"
        R"("tokens_per_second":8.0,"mfu":0.25,"wall_time":1.0})");
}

TEST_CASE("a truth value is 0 or 1 in a line, as a reader of numbers expects") {
  CHECK(metrics_line(3, {{"is_it", true}, {"was_it", false}}, {0.5, 2, {}, {}, {}, 1})
            .starts_with(R"({"step":3,"is_it":1,"was_it":0,)"));
}

TEST_CASE("every beginning of a line is known as one") {
  const std::string line = metrics_line(3, {{"loss", 0.5}}, {0.5, 2, {}, {}, {}, 1});
  for (size_t length = 0; length <= line.size(); ++length) CHECK(begins_metrics(line.substr(0, length)));
  CHECK_FALSE(begins_metrics("{\"mtfc\": 1}"));
  CHECK_FALSE(begins_metrics("notes"));
  CHECK(metrics_step(line) == 3);
}

}  // namespace mtfc::metrics_writer_test
