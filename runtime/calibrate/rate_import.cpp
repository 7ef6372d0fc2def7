#include "runtime/calibrate/rate_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "core/diagnostics/error.h"
#include "runtime/calibrate/table_fit.h"

namespace mtfc {
namespace {

constexpr size_t kMostShares = 400, kLeastRows = 4, kTenths = 10;
constexpr size_t kMostPoints = 8;  // of a bandwidth
constexpr const char* kAcross = "axes/*";

// The mean errors of times that `fit` of all rows predicts, and of rows that it has not seen: a tenth of them at a
// time.
template <typename Row, typename Fit>
void add_errors(const std::vector<Row>& rows, const Fit& fit, ImportQuality& quality) {
  const auto add = [](const Row& row, const auto& predicted, double share, double& mean) {
    mean += std::abs(predicted(row) / row.seconds - 1) * share;
  };
  const double share = 1 / static_cast<double>(rows.size());
  const auto all = fit(rows);
  for (const Row& row : rows) add(row, all, share, quality.mean_error);
  for (size_t tenth = 0; tenth < kTenths; ++tenth) {
    std::vector<Row> seen, held;
    for (size_t i = 0; i < rows.size(); ++i) (i % kTenths == tenth ? held : seen).push_back(rows[i]);
    const auto without = fit(seen);
    for (const Row& row : held) add(row, without, share, quality.held_error);
  }
}

void require_rows(size_t rows, const std::string& what) {
  if (rows < kLeastRows)
    throw UserError(
        fmt::format("there are {} rows of {}, but a fit needs at least {}", rows, what, kLeastRows));
}

// Sets the source of a path, and of all paths below it.
void set_source(const std::string& path, const std::string& source, Hardware& hardware) {
  std::erase_if(hardware.sources, [&](const auto& known) { return known.first.starts_with(path + "/"); });
  hardware.sources[path] = source;
}

std::string with_quality(const std::string& source, const ImportQuality& quality) {
  return fmt::format("{} ({} rows; mean error {:.1f} %, {:.1f} % of rows held out)", source, quality.rows,
                     100 * quality.mean_error, 100 * quality.held_error);
}

// -- kernels --

class KernelImport {
 public:
  KernelImport(const std::string& kernel, const std::vector<MeasuredKernel>& rows, const Hardware& hardware)
      : kernel_(kernel), rows_(rows), hardware_(hardware), peak_(hardware.peak(DType::kBF16)) {
    for (MeasuredKernel& row : rows_)
      if (row.seconds == 0) row.seconds = seconds(row, row.share);
  }

  ShareTable table(ImportQuality& quality) const {
    require_rows(rows_.size(), kernel_);
    const TableSizes sizes = chosen_sizes(shares(rows_), kMostShares);
    ShareTable made = fitted_table(shares(rows_), sizes);
    quality = {kernel_, rows_.size(), number_count(made)};
    add_errors(
        rows_,
        [&](const std::vector<MeasuredKernel>& rows) {
          return [this, by = fitted_table(shares(rows), sizes)](const MeasuredKernel& row) {
            return seconds(row, by.at(row.place));
          };
        },
        quality);
    return made;
  }

 private:
  double memory_seconds(const MeasuredKernel& row) const {
    return row.bytes / hardware_.memory_bandwidth.at(row.bytes);
  }
  // As core/cost/kernel_time.h predicts it.
  double seconds(const MeasuredKernel& row, double share) const {
    const double compute = row.flops / (peak_ * share), memory = memory_seconds(row);
    return hardware_.step_overhead_s + std::max(compute, memory) +
           (1 - hardware_.overlap) * std::min(compute, memory);
  }
  std::vector<MeasuredShare> shares(const std::vector<MeasuredKernel>& rows) const {
    std::vector<MeasuredShare> made;
    for (const MeasuredKernel& row : rows) {
      const double net =
          row.seconds - hardware_.step_overhead_s - (1 - hardware_.overlap) * memory_seconds(row);
      made.push_back({row.place, std::min(row.flops / std::max(net, row.seconds / 4) / peak_, 1.0)});
    }
    return made;
  }

  std::string kernel_;
  std::vector<MeasuredKernel> rows_;
  const Hardware& hardware_;
  double peak_;
};

// -- collectives --

// A rate by the logarithms of its numbers: fixed_s and latency_s, the bandwidth at each size, and the share of each
// number of members relative to that of the first.
class RateFit {
 public:
  explicit RateFit(const std::vector<MeasuredCollective>& rows) : rows_(rows) {
    std::set<double> members, bytes;
    double shortest = rows[0].seconds, fastest = 0;
    for (const MeasuredCollective& row : rows) {
      members.insert(static_cast<double>(row.devices));
      bytes.insert(row.bytes);
      shortest = std::min(shortest, row.seconds);
      fastest = std::max(fastest, row.bytes / row.seconds);
    }
    members_.assign(members.begin(), members.end());
    const size_t points = std::clamp<size_t>(std::min(bytes.size(), rows.size() / 3), 1, kMostPoints);
    for (size_t p = 0; p < points; ++p)
      sizes_.push_back(*bytes.begin() *
                       std::pow(*bytes.rbegin() / *bytes.begin(),
                                points == 1 ? 0 : static_cast<double>(p) / static_cast<double>(points - 1)));
    // With groups of one size, a fixed time is not to be told from that of messages.
    has_fixed_ = members_.size() > 1;
    values_ = {std::log(shortest / 2), std::log(shortest / (has_fixed_ ? 10 : 2))};
    values_.insert(values_.end(), points, std::log(fastest));
    values_.insert(values_.end(), members_.size() - 1, 0);
    descend();
  }

  size_t numbers() const { return values_.size(); }

  Rate rate() const {
    double most = 0;
    for (size_t i = 0; i < members_.size(); ++i) most = std::max(most, share(i));
    Rate made;
    made.fixed_s = has_fixed_ ? negligible_to_zero(std::exp(values_[0])) : 0;
    made.latency_s = negligible_to_zero(std::exp(values_[1]));
    std::vector<std::pair<double, double>> curve, shares;
    for (size_t p = 0; p < sizes_.size(); ++p) curve.emplace_back(sizes_[p], most * std::exp(values_[2 + p]));
    for (size_t i = 0; i < members_.size(); ++i) shares.emplace_back(members_[i], share(i) / most);
    made.bytes_per_s = Curve(curve);
    made.members_share = members_.size() > 1 ? Curve(shares) : Curve(1);
    return made;
  }

  static double seconds(const MeasuredCollective& row, const Rate& rate) {
    return rate.fixed_s + static_cast<double>(messages_sent(row.kind, row.devices)) * rate.latency_s +
           row.bytes /
               (rate.bytes_per_s.at(row.bytes) * rate.members_share.at(static_cast<double>(row.devices)));
  }

 private:
  static double negligible_to_zero(double seconds) { return seconds < 1e-9 ? 0 : seconds; }
  double share(size_t member) const {
    return member == 0 ? 1 : std::exp(values_[1 + sizes_.size() + member]);
  }

  // Squares of the logarithms of predicted over measured times, and a little for bends of the bandwidth.
  double missed() const {
    constexpr double kBend = 0.02;
    const Rate rate = this->rate();
    double sum = 0;
    for (const MeasuredCollective& row : rows_)
      sum += std::pow(std::log(seconds(row, rate) / row.seconds), 2);
    for (size_t p = 1; p + 1 < sizes_.size(); ++p)
      sum += kBend * std::pow(2 * values_[2 + p] - values_[1 + p] - values_[3 + p], 2);
    return sum;
  }

  // Moves one value after the other as long as that helps, in ever smaller steps.
  void descend() {
    double best = missed();
    for (double step = 1; step > 1e-3; step /= 2)
      for (bool helped = true; helped;) {
        helped = false;
        for (double& value : values_)
          for (const double change : {step, -step}) {
            const double before = std::exchange(value, value + change);
            const double now = missed();
            if (now < best * (1 - 1e-9)) {
              best = now;
              helped = true;
              break;
            }
            value = before;
          }
      }
  }

  const std::vector<MeasuredCollective>& rows_;
  std::vector<double> members_, sizes_, values_;
  bool has_fixed_ = true;
};

Rate fitted_rate(const std::vector<MeasuredCollective>& rows, ImportQuality& quality) {
  require_rows(rows.size(), quality.what);
  const RateFit all(rows);
  quality = {quality.what, rows.size(), all.numbers()};
  add_errors(
      rows,
      [](const std::vector<MeasuredCollective>& seen) {
        return
            [by = RateFit(seen).rate()](const MeasuredCollective& row) { return RateFit::seconds(row, by); };
      },
      quality);
  return all.rate();
}

// The rates of the link at `path`: each kind has its own, and kinds without measurements have that of all together.
std::vector<ImportQuality> import_link(const std::vector<MeasuredCollective>& rows, const std::string& path,
                                       const std::string& source, Hardware& hardware) {
  const bool is_inside = path != kAcross;
  Link& link = is_inside ? *hardware.inside : hardware.axes["*"];
  const std::string where = is_inside ? " in a node" : " between nodes";
  ImportQuality together{"collectives" + where};
  static_cast<Rate&>(link) = fitted_rate(rows, together);
  set_source(path, with_quality(source, together), hardware);
  link.collectives.clear();
  std::map<CollectiveKind, std::vector<MeasuredCollective>> by_kind;
  for (const MeasuredCollective& row : rows) by_kind[row.kind].push_back(row);
  std::vector<ImportQuality> found;
  for (const auto& [kind, of_kind] : by_kind) {
    const std::string name(to_string(kind));
    ImportQuality quality{name + where};
    link.collectives[name] = fitted_rate(of_kind, quality);
    hardware.sources[fmt::format("{}/collectives/{}", path, name)] = with_quality(source, quality);
    found.push_back(quality);
  }
  return found;
}

}  // namespace

std::vector<ImportQuality> import_rates(const MeasuredRates& rates, Hardware& hardware) {
  std::vector<ImportQuality> found;
  const auto source_of = [&](const std::string& part) {
    const auto at = rates.sources.find(part);
    return at == rates.sources.end() ? std::string("imported") : at->second;
  };
  for (const auto& [kernel, rows] : rates.kernels) {
    ImportQuality quality;
    hardware.tables[kernel] = KernelImport(kernel, rows, hardware).table(quality);
    hardware.efficiency.erase(kernel);
    set_source("efficiency/" + kernel, with_quality(source_of(kernel), quality), hardware);
    found.push_back(quality);
  }
  const std::string inside = hardware.wider.empty() ? "topology/inside" : "topology/levels/0";
  std::map<std::string, std::vector<MeasuredCollective>> by_link;
  for (const MeasuredCollective& row : rates.collectives) {
    const bool is_inside =
        hardware.topology == Topology::kTwoLevel && row.devices <= hardware.devices_per_node;
    by_link[is_inside ? inside : kAcross].push_back(row);
  }
  if (by_link.contains(inside) && !hardware.inside) hardware.inside = hardware.link("*");
  for (const auto& [path, rows] : by_link) {
    const std::vector<ImportQuality> of_link = import_link(rows, path, source_of(""), hardware);
    found.insert(found.end(), of_link.begin(), of_link.end());
  }
  return found;
}

}  // namespace mtfc
