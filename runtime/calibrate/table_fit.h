#pragma once
// Makes a table of shares from scattered measurements. Between its sizes a table is linear in logarithms, so the
// logarithms of its shares are fitted to those of the measurements by least squares. Places without measurements follow
// their neighbours in a line. At the same time, each size with several measurements gets a factor, near 1.

#include <vector>

#include "core/cost/hardware.h"

namespace mtfc {

struct MeasuredShare {
  std::vector<double> place;
  double share = 0;
};

struct TableSizes {
  std::vector<std::vector<double>> sizes;  // of each dimension, ascending

  size_t shares() const;
};

/// The sizes with which a table of at most `most` shares fits the measurements best, chosen among the measured ones:
/// the smallest and the largest of each dimension, and then always the one that helps most.
TableSizes chosen_sizes(const std::vector<MeasuredShare>& measured, size_t most);

/// The numbers that a profile has for the table.
size_t number_count(const ShareTable& table);

/// The table of these sizes that fits best.
ShareTable fitted_table(const std::vector<MeasuredShare>& measured, const TableSizes& sizes);

}  // namespace mtfc
