#include "runtime/calibrate/calibration.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

#include "runtime/calibrate/calibration_parts.h"
#include "runtime/calibrate/stopwatch.h"
#include "runtime/compute/threads.h"

namespace mtfc {
namespace {

// There is nothing to measure between devices on one rank: the link is as fast as the memory.
Link memory_link(const Hardware& hardware) {
  Link link;
  link.latency_s = hardware.step_overhead_s;
  link.bytes_per_s = hardware.memory_bandwidth;
  link.overlaps = false;
  return link;
}

}  // namespace

std::string poor_fits_text(const std::vector<FitQuality>& fits) {
  constexpr double kPoorMean = 0.5, kPoorWorst = 3;
  std::string text;
  for (const FitQuality& fit : fits)
    if (fit.mean_error > kPoorMean || fit.worst_error > kPoorWorst)
      text += fmt::format("{}{} by {:.0f} % on average and {:.0f} % at worst", text.empty() ? "" : ", ",
                          fit.what, 100 * fit.mean_error, 100 * fit.worst_error);
  return text;
}

Calibration calibrate(const Mesh& mesh, Processes& processes, NodeMemory* node,
                      const CalibrationOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  Calibration made;
  Hardware& hardware = made.hardware;
  Stopwatch watch(processes, options.quick ? 0.005 : 0.03);
  calibrate_kernels(watch, options, node, hardware, made.fits);
  if (processes.size() > 1) {
    MeasuredLinks links = calibrate_collectives(mesh, watch, *node, options);
    hardware.axes = std::move(links.axes);
    made.fits.insert(made.fits.end(), links.fits.begin(), links.fits.end());
  } else {
    hardware.axes["*"] = memory_link(hardware);
  }
  const auto pages = static_cast<double>(sysconf(_SC_PHYS_PAGES)),
             page = static_cast<double>(sysconf(_SC_PAGE_SIZE));
  hardware.memory_bytes = pages * page / processes.ranks_on_node();
  hardware.name = options.name;
  hardware.ranks = processes.size();
  hardware.threads_per_rank = threads();
  hardware.doc = fmt::format("Measured by mtfc calibrate: {} with {} on a node, {} a rank.",
                             processes.size() == 1 ? "1 rank" : fmt::format("{} ranks", processes.size()),
                             processes.ranks_on_node(),
                             threads() == 1 ? "1 thread" : fmt::format("{} threads", threads()));
  hardware.sources = {{"memory_bytes", "the memory of the node over its ranks"}};
  for (const char* path : {"flops", "memory_bandwidth", "overlap", "step_overhead_s", "efficiency", "axes",
                           "ranks", "threads_per_rank"})
    hardware.sources[path] = "measured by mtfc calibrate";
  if (hardware.write_bandwidth) hardware.sources["write_bandwidth"] = "measured by mtfc calibrate";
  if (processes.size() == 1) hardware.sources["axes"] = "assumed: the speed of memory";
  if (processes.size() == 1)
    hardware.doc += " Collectives were not measured; they are assumed to run at the speed of memory.";
  made.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return made;
}

}  // namespace mtfc
