#include "formats/report/pareto_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "formats/report/report_writer.h"
#include "formats/text/quantity.h"
#include "formats/text/wrapped_text.h"

namespace mtfc {
namespace {

constexpr size_t kRows = 12, kLeastColumns = 16;
constexpr size_t kMostShared = 3;  // numbers in one mark
constexpr int kRowInColumns = 4;   // a row is about as high as so many columns are wide

struct Point {
  size_t number;  // by which the list of layouts names it
  double seconds, bytes;
};

std::vector<Point> points_of(const std::vector<ComparedLayout>& layouts) {
  std::vector<Point> points;
  for (size_t i = 0; i < layouts.size(); ++i)
    if (const auto& report = layouts[i].report; report && report->time)
      points.push_back(
          {number_of(layouts, i), report->time->step_s, static_cast<double>(report->memory.peak)});
  return points;
}

// A range a little wider than the values of points.
struct Scale {
  Scale(const std::vector<Point>& points, double Point::*value) {
    const auto [least, most] = std::minmax_element(
        points.begin(), points.end(), [&](const Point& a, const Point& b) { return a.*value < b.*value; });
    const double margin = std::max(0.06 * ((*most).*value - (*least).*value), 0.02 * (*most).*value);
    from = std::max(0.0, (*least).*value - margin);
    to = (*most).*value + margin;
  }
  // The place of a value: 0 at the beginning of the range, 1 at its end.
  double share(double value) const { return (value - from) / (to - from); }

  double from, to;
};

// The numbers of a scale that have round digits in the base 2 or 10, at most five.
std::vector<double> round_numbers(const Scale& scale, double base) {
  const double apart = (scale.to - scale.from) / 4;
  const double power = std::pow(base, std::floor(std::log(apart) / std::log(base)));
  double step = base * power;
  for (const double factor : {base / 2, 2.0, 1.0})
    if (factor * power >= apart) step = factor * power;
  std::vector<double> numbers;
  for (double at = std::ceil(scale.from / step) * step; at <= scale.to; at += step) numbers.push_back(at);
  return numbers;
}

size_t place_of(double share, size_t places) {
  return static_cast<size_t>(
      std::clamp(std::lround(share * static_cast<double>(places - 1)), 0L, static_cast<long>(places) - 1));
}

// `[1]`, `[1,2]`, `[1,2,3..]`.
std::string mark_of(const std::vector<size_t>& numbers) {
  std::string text = "[";
  for (size_t i = 0; i < std::min(numbers.size(), kMostShared); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ",", numbers[i]);
  return text + (numbers.size() > kMostShared ? "..]" : "]");
}

// Rows of characters, the lowest first.
class Grid {
 public:
  explicit Grid(size_t columns) : rows_(kRows, std::string(columns, ' ')) {}

  const std::string& row(size_t r) const { return rows_[r]; }
  /// Writes the mark around the place, or at the free place next to it. Returns false if nothing is free.
  bool write(const std::string& mark, size_t row, size_t column) {
    const size_t columns = rows_[0].size();
    if (mark.size() > columns) return false;
    const size_t wanted = std::min(column - std::min(column, mark.size() / 2), columns - mark.size());
    std::optional<std::pair<int, std::pair<size_t, size_t>>> best;  // by distance: row and column
    for (size_t r = 0; r < kRows; ++r)
      for (size_t from = 0; from + mark.size() <= columns; ++from) {
        const int distance = kRowInColumns * std::abs(static_cast<int>(r) - static_cast<int>(row)) +
                             std::abs(static_cast<int>(from) - static_cast<int>(wanted));
        if (best && distance >= best->first) continue;
        if (is_free(r, from, mark.size())) best = {distance, {r, from}};
      }
    if (!best) return false;
    const auto [at_row, at_column] = best->second;
    rows_[at_row].replace(at_column, mark.size(), mark);
    return true;
  }

 private:
  bool is_free(size_t row, size_t from, size_t length) const {
    return rows_[row].find_first_not_of(' ', from) >= from + length;
  }

  std::vector<std::string> rows_;
};

// By row: the round number that is nearest to it.
std::map<size_t, std::string> row_labels(const Scale& memory, int64_t device_memory) {
  std::map<size_t, std::string> labels;
  for (const double tick : round_numbers(memory, is_decimal(device_memory) ? 10 : 2))
    labels.emplace(place_of(memory.share(tick), kRows),
                   bytes_beside(static_cast<int64_t>(tick), device_memory));
  return labels;
}

// The axis of time, and below it the round numbers that do not touch each other.
std::string time_axis(const Scale& time, size_t columns, size_t margin) {
  std::string axis(columns, '-'), labels(columns, ' ');
  size_t free = 0;
  std::string last;
  for (const double tick : round_numbers(time, 10)) {
    const std::string label = seconds_text(tick);
    const size_t column = place_of(time.share(tick), columns);
    const size_t from = std::min(column - std::min(column, label.size() / 2), columns - label.size());
    if (from < free || label == last) continue;
    axis[column] = '+';
    labels.replace(from, label.size(), label);
    free = from + label.size() + 1;
    last = label;
  }
  labels.erase(labels.find_last_not_of(' ') + 1);
  return std::string(margin, ' ') + " +" + axis + "\n" + std::string(margin + 2, ' ') + labels + "\n";
}

}  // namespace

std::string pareto_picture(const std::vector<ComparedLayout>& layouts, size_t width) {
  const std::vector<Point> points = points_of(layouts);
  if (points.size() < 2) return "";
  const Scale time(points, &Point::seconds), memory(points, &Point::bytes);
  if (time.to <= 0 || memory.to <= 0) return "";
  const std::map<size_t, std::string> labels = row_labels(memory, device_memory_of(layouts));
  size_t margin = 0;
  for (const auto& [row, label] : labels) margin = std::max(margin, label.size());
  const size_t columns = std::max(kLeastColumns, width - std::min(width, margin + 2));

  std::map<std::pair<size_t, size_t>, std::vector<size_t>> places;  // by row and column: the numbers
  for (const Point& point : points)
    places[{place_of(memory.share(point.bytes), kRows), place_of(time.share(point.seconds), columns)}]
        .push_back(point.number);
  Grid grid(columns);
  size_t omitted = 0;
  for (const auto& [place, numbers] : places)
    if (!grid.write(mark_of(numbers), place.first, place.second)) omitted += numbers.size();

  std::string text =
      "\n" + wrapped("", "time of a step (to the right) and memory per device (upwards)", " ", width) + "\n";
  for (size_t row = kRows; row-- > 0;) {
    const auto label = labels.find(row);
    std::string line = fmt::format("{:>{}} {}", label == labels.end() ? "" : label->second, margin,
                                   label == labels.end() ? "|" : "+") +
                       grid.row(row);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  text += time_axis(time, columns, margin);
  if (omitted > 0)
    text += wrapped("", fmt::format("{} more have no room in the drawing", omitted), " ", width);
  return text;
}

}  // namespace mtfc
