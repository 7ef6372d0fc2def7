#include "cmd/terminal/status_line.h"

#include <doctest/doctest.h>

#include <sstream>

namespace mtfc::status_line_test {

using Place = StatusLine::Place;
constexpr std::chrono::hours kLong{1};

TEST_CASE("a status line is rewritten on a terminal, and removed at the end") {
  std::ostringstream out;
  {
    StatusLine line(out, Place::kTerminal, kLong);
    line.show("1 tried");
    line.show("2 tried");
  }
  CHECK(out.str() == "\r\033[K1 tried\r\033[K2 tried\r\033[K");
  std::ostringstream nothing;
  StatusLine(nothing, Place::kTerminal).clear();
  CHECK(nothing.str().empty());
}

TEST_CASE("elsewhere a status line is a line of its own, now and then, or nothing") {
  const auto written = [](Place place, std::chrono::milliseconds patience) {
    std::ostringstream out;
    {
      StatusLine line(out, place, patience);
      line.show("1 tried");
      line.show("2 tried");
    }
    return out.str();
  };
  CHECK(written(Place::kFile, std::chrono::milliseconds(0)) == "1 tried\n2 tried\n");
  CHECK(written(Place::kFile, kLong).empty());
  CHECK(written(Place::kNowhere, std::chrono::milliseconds(0)).empty());
}

}  // namespace mtfc::status_line_test
