#pragma once
// Drawings of numbers over the steps of runs, for pages: lines in SVG, with labels beside them so that they stay
// legible on a phone, and the main figures as text for those who do not see the drawing. Numbers that fall far are
// drawn on a logarithmic axis, as losses are; an accuracy never is.

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mtfc {

/// The style and the script of these drawings, which a page adds to its own. The script shows the numbers under the
/// pointer, and at the place of a slider that the keyboard moves.
extern const std::string_view kCurveStyle, kCurveScript;

/// One line: numbers over steps or seconds, in ascending order. Where `y` is not finite, the line has a gap.
struct PlotLine {
  std::string name;
  size_t colour = 0;         // lines of one run share it
  bool has_dots = false;     // for numbers that are measured now and then
  std::vector<double> x, y;  // of the same length
};

struct Plot {
  std::string metric;           // whose numbers these are, for their format: "loss", "mfu"
  bool is_over_time = false;    // x is in seconds, or else in steps
  bool begins_at_zero = false;  // the axis of y does
  std::vector<PlotLine> lines;
};

/// A figure with the drawing, its legend and a summary. Empty if no line has a finite number.
std::string plot_figure(const Plot& plot);

/// A point of a line that is drawn: one step, or the mean and the extremes of several.
struct PlotPoint {
  double x = 0, y = 0, least = 0, most = 0;
};
/// The points of a line, at most `most` of them: if there are more, steps within equal ranges of x are drawn as one
/// point. Numbers that are not finite are left out; `breaks` gets the positions of points before which the line has a
/// gap.
std::vector<PlotPoint> thinned(const PlotLine& line, size_t most, std::vector<size_t>& breaks);

/// Round numbers within [least, most], ascending; at least one.
std::vector<double> round_ticks(double least, double most, bool is_logarithmic);

}  // namespace mtfc
