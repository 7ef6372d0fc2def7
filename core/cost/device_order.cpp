#include "core/cost/device_order.h"

#include <algorithm>
#include <numeric>

#include "core/cost/kernel_time.h"

namespace mtfc {
namespace {

constexpr size_t kMostAxes = 5;
constexpr int64_t kMostDevices = 65536;  // an order lists all of them
constexpr double kWorthwhile = 0.99;

// The device order of a mesh whose ranks count along `axes`, major first: the rank at each row-major
// position.
std::vector<int64_t> order_along(const Mesh& mesh, const AxisList& axes) {
  std::vector<int64_t> order(static_cast<size_t>(mesh.devices()));
  for (int64_t position = 0; position < mesh.devices(); ++position)
    order[static_cast<size_t>(position)] = mesh.index(mesh.coordinates(position), axes);
  return order;
}

bool may_be_reordered(const Mesh& mesh, const Hardware& hardware) {
  return hardware.topology == Topology::kTwoLevel && mesh.axes().size() >= 2 &&
         mesh.axes().size() <= kMostAxes && mesh.devices() <= kMostDevices && mesh.device_order().empty();
}

}  // namespace

std::vector<Mesh> possible_orders(const Mesh& mesh, const Hardware& hardware) {
  std::vector<Mesh> orders = {mesh};
  if (!may_be_reordered(mesh, hardware)) return orders;
  AxisList axes(mesh.axes().size());
  std::iota(axes.begin(), axes.end(), 0);
  while (std::next_permutation(axes.begin(), axes.end()))
    orders.emplace_back(mesh.axes(), order_along(mesh, axes));
  return orders;
}

std::optional<ProposedOrder> propose_device_order(const Program& program, const EntryPoint& entry,
                                                  const std::vector<StepCount>& counts,
                                                  const Hardware& hardware) {
  const Mesh& mesh = program.mesh();
  if (!may_be_reordered(mesh, hardware)) return std::nullopt;
  const std::vector<KernelTime> kernels = kernel_times(entry, mesh, hardware);
  double best = kWorthwhile * predicted_time(program, entry, counts, hardware, kernels).step_s;
  std::optional<ProposedOrder> proposed;
  Program reordered = program;
  AxisList axes(mesh.axes().size());
  std::iota(axes.begin(), axes.end(), 0);
  while (std::next_permutation(axes.begin(), axes.end())) {
    reordered.layout.mesh = Mesh(mesh.axes(), order_along(mesh, axes));
    const double step_s = predicted_time(reordered, entry, counts, hardware, kernels).step_s;
    if (step_s >= best) continue;
    best = step_s;
    proposed = ProposedOrder{{}, reordered.mesh().device_order(), step_s};
    for (const int axis : axes) proposed->axes.push_back(mesh.axes()[static_cast<size_t>(axis)].name);
  }
  return proposed;
}

}  // namespace mtfc
