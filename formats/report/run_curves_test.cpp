#include "formats/report/run_curves.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace mtfc::run_curves_test {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

PlotLine line_of(size_t steps, double (*value)(size_t)) {
  PlotLine line{"run", 0, false, {}, {}};
  for (size_t i = 0; i < steps; ++i) {
    line.x.push_back(static_cast<double>(i + 1));
    line.y.push_back(value(i));
  }
  return line;
}

}  // namespace

TEST_CASE("a short line is drawn step by step, with gaps where a number is missing") {
  std::vector<size_t> breaks;
  const PlotLine line{"run", 0, false, {1, 2, 3, 4, 5}, {5, kNone, 3, 2, kNone}};
  const std::vector<PlotPoint> points = thinned(line, 10, breaks);
  REQUIRE(points.size() == 3);
  CHECK(points[1].x == 3);
  CHECK(points[1].y == 3);
  CHECK(breaks == std::vector<size_t>{1});
  // What is measured now and then has no gaps.
  breaks.clear();
  PlotLine dotted = line;
  dotted.has_dots = true;
  CHECK(thinned(dotted, 10, breaks).size() == 3);
  CHECK(breaks.empty());
  const PlotLine empty{"run", 0, false, {1}, {kNone}};
  CHECK(thinned(empty, 10, breaks).empty());
}

TEST_CASE("a long line keeps its means and its extremes") {
  std::vector<size_t> breaks;
  const PlotLine line =
      line_of(100'000, [](size_t i) { return i == 54'321 ? 1000.0 : static_cast<double>(i % 2); });
  const std::vector<PlotPoint> points = thinned(line, 500, breaks);
  CHECK(points.size() == 500);
  CHECK(breaks.empty());
  size_t peaks = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    CHECK(points[i].least == 0);
    if (points[i].most == 1000) {
      ++peaks;
      CHECK(points[i].y == doctest::Approx(0.5 + 999.0 / 200).epsilon(0.01));
    } else {
      CHECK(points[i].most == 1);
      CHECK(points[i].y == doctest::Approx(0.5).epsilon(0.01));
    }
    if (i > 0) CHECK(points[i].x > points[i - 1].x);
  }
  CHECK(peaks == 1);
}

TEST_CASE("ticks are round numbers within the range") {
  CHECK(round_ticks(0, 10, false) == std::vector<double>{0, 2, 4, 6, 8, 10});
  CHECK(round_ticks(1, 100, false) == std::vector<double>{20, 40, 60, 80, 100});
  CHECK(round_ticks(0, 4, false) == std::vector<double>{0, 1, 2, 3, 4});
  const std::vector<double> around = round_ticks(-0.11, 0.12, false);
  REQUIRE(around.size() == 5);
  CHECK(around[0] == doctest::Approx(-0.1));
  CHECK(around[2] == 0);
  CHECK(around[4] == doctest::Approx(0.1));
  const std::vector<double> decades = round_ticks(0.02, 3000, true);
  REQUIRE(decades.size() == 2);
  CHECK(decades[0] == doctest::Approx(1));
  CHECK(decades[1] == doctest::Approx(100));
  const std::vector<double> two = round_ticks(0.9, 60, true);
  CHECK(two.size() == 6);  // 1, 2, 5, 10, 20, 50
}

TEST_CASE("a figure has its main figures as text, and nothing of a name is markup") {
  Plot plot;
  plot.metric = "a<b";
  plot.lines = {{"run \"1\" <i>", 0, false, {1, 2, 100}, {4, 2, 3}}};
  const std::string html = plot_figure(plot);
  CHECK(html.find("<h3>a&lt;b over steps</h3>") != std::string::npos);
  CHECK(html.find("run &quot;1&quot; &lt;i&gt;: 4 at step 1, 3 at step 100; from 2 to 4") !=
        std::string::npos);
  CHECK(html.find("<i>") == std::string::npos);
  CHECK(html.find("role=img") != std::string::npos);
  CHECK(html.find("logarithmic") == std::string::npos);
  plot.lines[0].y = {4000, 2, 3};
  CHECK(plot_figure(plot).find("logarithmic") != std::string::npos);
  // Not what rises, and an accuracy not even where it falls.
  plot.lines[0].y = {2, 3, 4000};
  CHECK(plot_figure(plot).find("logarithmic") == std::string::npos);
  plot.metric = "valid/accuracy";
  plot.lines[0].y = {1, 0.5, 0.01};
  CHECK(plot_figure(plot).find("logarithmic") == std::string::npos);
  // Zero has no sign.
  plot.lines[0].y = {0.2, 0.1, 0};
  CHECK(plot_figure(plot).find(">-0<") == std::string::npos);
  plot.metric = "a<b";
  // The highest number is at the top, and the lowest at the bottom; the ends leave a margin of a twentieth.
  plot.lines[0].y = {0, 10, 10};
  CHECK(plot_figure(plot).find("d=\"M0.0 286.4L10.1 13.6L1000.0 13.6\"") != std::string::npos);
}

TEST_CASE("a figure has the numbers of its points, for the script that shows them") {
  Plot plot;
  plot.metric = "loss";
  plot.lines = {{"run \"1\" <i>", 0, false, {1, 2, 100}, {4, 2, 3}},
                {"other", 1, true, {2, 50}, {0.5, 0.25}}};
  const std::string html = plot_figure(plot);
  CHECK(html.find("&quot;x&quot;:&quot;1 2 100&quot;,&quot;text&quot;:&quot;4|2|3&quot;}") !=
        std::string::npos);
  CHECK(html.find("&quot;x&quot;:&quot;2 50&quot;,&quot;text&quot;:&quot;0.5|0.25&quot;}") !=
        std::string::npos);
  const size_t begin = html.find("data-curves=\"") + 13;
  CHECK(html.find("<i>", begin) == std::string::npos);
  CHECK(html.substr(begin, html.find('"', begin) - begin).ends_with("}]}"));
}

TEST_CASE("lines without numbers, with one, and with equal ones can be drawn") {
  Plot plot;
  plot.metric = "loss";
  plot.lines = {{"run", 0, false, {1, 2}, {kNone, kNone}}};
  CHECK(plot_figure(plot).empty());
  for (const double value : {0.0, 5.0, -1e300, 1e-300, 1e17}) {
    plot.lines = {{"run", 0, false, {7}, {value}}, {"other", 1, true, {7, 9}, {value, value}}};
    const std::string html = plot_figure(plot);
    CHECK(html.find("nan") == std::string::npos);
    CHECK(html.find("inf") == std::string::npos);
  }
  plot.begins_at_zero = true;
  plot.lines = {{"run", 0, false, {1, 2}, {kNone, 0}}};
  const std::string html = plot_figure(plot);
  CHECK(html.find("nan") == std::string::npos);
  CHECK(html.find("run: 1 of 2 steps have no finite number.") != std::string::npos);
}

}  // namespace mtfc::run_curves_test
