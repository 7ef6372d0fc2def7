#include "cmd/running/run_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <variant>

#include "core/diagnostics/printable.h"
#include "core/tensors/layout.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

constexpr size_t kLongestLayout = 200;  // bytes of a layout's text; a longer one would hide the rest

std::string steps_of(const EntryPoint& entry, const RunExtent& extent) {
  if (extent.has_data) return "";
  if (entry.name != "train") return ", " + counted(extent.steps, "run");
  if (extent.first_step == 0) return ", " + counted(extent.steps, "step");
  if (extent.steps <= extent.first_step)
    return fmt::format(", {} made before", counted(extent.first_step, "step"));
  return fmt::format(", steps {} to {}", grouped(extent.first_step + 1), grouped(extent.steps));
}

// `813 k parameters in f32, products in bf16`: the dtype that most parameters have, and that of products if they are
// computed in fewer bits.
std::string parameters_of(const Program& program, const EntryPoint& entry) {
  std::map<DType, int64_t> by_dtype;
  int64_t all = 0, most = 0;
  DType dtype = DType::kF32;
  for (const ProgramVariable& variable : program.variables) {
    if (!variable.decl.trainable || variable.decl.optimizer_state) continue;
    const int64_t count = elements(variable.decl.type.dims);
    all += count;
    int64_t& alike = by_dtype[variable.decl.type.dtype] += count;
    if (alike > most) most = alike, dtype = variable.decl.type.dtype;
  }
  if (all == 0) return "";
  std::string text = fmt::format(", {} {} in {}", count_text(all, ""), all == 1 ? "parameter" : "parameters",
                                 to_string(dtype));
  for (const Step& step : entry.steps)
    if (step.multiplies() && !step.inputs.empty() && dtype != DType::kBF16 &&
        entry.values[step.inputs[0]].type.dtype == DType::kBF16)
      return text + ", products in bf16";
  return text;
}

std::string layout_of(const Layout& layout) {
  if (layout.mesh.axes().empty()) return "one device";
  std::string rules = printable(described(layout));
  if (rules.size() > kLongestLayout) rules = rules.substr(0, rules.rfind(',', kLongestLayout)) + ", ..";
  return fmt::format("mesh {}, {}{}", printable(to_string(layout.mesh)),
                     layout.rules.empty() ? "" : "layout ", rules);
}

// The data of the inputs that the entry point has, in their order.
std::vector<const InputData*> data_of(const EntryPoint& entry, const std::vector<InputData>& inputs) {
  std::vector<const InputData*> found;
  for (const Binding& input : entry.inputs)
    for (const InputData& data : inputs)
      if (data.input == input.name) found.push_back(&data);
  return found;
}

// `images and labels are`, `labels is`
std::string are(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += fmt::format("{}'{}'", i == 0 ? "" : i + 1 == names.size() ? " and " : ", ", printable(names[i]));
  return text + (names.size() == 1 ? " is" : " are");
}

}  // namespace

bool is_given(const std::string& input, const std::vector<std::string>& given) {
  return std::any_of(given.begin(), given.end(),
                     [&](const std::string& value) { return value.starts_with(input + "="); });
}

std::string run_header(const Program& program, const EntryPoint& entry, const RunExtent& extent,
                       const RunPlace& place) {
  const int64_t devices = program.mesh().devices();
  const std::string memory = bytes_beside(program.arena_bytes(), place.device_memory),
                    threads = counted(place.threads, "thread");
  std::string where;
  if (place.ranks > 1)
    where = fmt::format("{} on {}, {} each, {} per rank", counted(place.ranks, "rank"),
                        counted(place.hosts, "host"), threads, memory);
  else if (devices > 1)
    where = fmt::format("{} in one process, {}, {} per device", counted(devices, "device"), threads, memory);
  else
    where = fmt::format("{}, {}", threads, memory);
  return fmt::format("{}: {}{}{}\n{}: {}\n", printable(program.model), printable(entry.name),
                     steps_of(entry, extent), parameters_of(program, entry), layout_of(program.layout),
                     where);
}

std::string threads_warning(const Hardware& hardware, const Mesh& mesh, const RunPlace& place) {
  if (hardware.threads_per_rank == 0 || hardware.threads_per_rank == place.threads) return "";
  if (place.ranks != mesh.devices()) return "";  // all devices share the threads of one process
  const std::string on_mesh = place.ranks > 1 ? fmt::format(" --mesh {}", printable(to_string(mesh))) : "";
  return fmt::format(
      "mtfc: warning: the profile '{}' was measured with {} per rank, but each rank of this run has {}, so "
      "predicted times and the MFU are wrong (give --threads {}, or measure with mtfc calibrate{} --threads "
      "{} -o FILE.json)\n",
      printable(hardware.name), counted(hardware.threads_per_rank, "thread"), place.threads,
      hardware.threads_per_rank, on_mesh, place.threads);
}

std::string data_line(const EntryPoint& entry, const std::vector<InputData>& inputs,
                      const std::vector<std::string>& given, std::optional<double> filled) {
  const std::vector<const InputData*> all = data_of(entry, inputs);
  if (all.empty()) return "";
  const bool any_given = std::any_of(all.begin(), all.end(),
                                     [&](const InputData* data) { return is_given(data->input, given); });
  std::string text = any_given ? "data:" : "data of the model:";
  for (size_t i = 0; i < all.size(); ++i) {
    const bool is_own = any_given && !is_given(all[i]->input, given);
    text += fmt::format("{} {} from {}{}", i == 0 ? "" : ";", printable(all[i]->input),
                        printable(all[i]->spec), is_own ? " (the model's own)" : "");
  }
  if (filled) text += fmt::format("; rows are {:.0f} % full", std::floor(100 * *filled));
  return text + "\n";
}

std::string random_data_warning(const EntryPoint& entry, const std::vector<InputData>& inputs,
                                const std::vector<std::string>& given) {
  std::vector<std::string> random;
  bool any_given = false;
  for (const InputData* data : data_of(entry, inputs))
    if (is_given(data->input, given))
      any_given = true;
    else if (std::holds_alternative<RandomSource>(data->source))
      random.push_back(data->input);
  if (!any_given || random.empty()) return "";
  return fmt::format(
      "mtfc: warning: {} random, as the model says, although other inputs have data (give --input {}=..., "
      "which may be random:... if that is meant)\n",
      are(random), printable(random.front()));
}

}  // namespace mtfc
