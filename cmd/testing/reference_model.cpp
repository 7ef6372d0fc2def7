#include "cmd/testing/reference_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "cmd/files/files.h"
#include "cmd/files/included_files.h"
#include "core/compile/pipeline.h"
#include "core/testing/checkout.h"
#include "formats/layout/layout_reader.h"
#include "formats/model/model_reader.h"
#include "runtime/comm/comm_lockstep.h"
#include "runtime/execute/executor.h"
#include "runtime/testing/sharded_runs.h"

namespace mtfc {
namespace {

using ReferenceJson = nlohmann::ordered_json;

Program reference_program(const std::string& folder, const ReferenceLayout& split, DType dtype) {
  IncludedFiles includes;
  std::vector<Diagnostic> warnings;
  const Model model = read_model(
      read_text(folder + "model.json", "model"), "model.json", split.sets, warnings,
      {[&](const IncludeName& name) { return includes.read(name); }, {{}, dtype, split.microbatches}});
  if (!warnings.empty()) throw UserError(warnings);
  LayoutSources sources;
  sources.mesh = split.mesh;
  sources.rules = split.rules;
  Layout layout = read_layout(sources);
  layout.propagate = split.propagate;
  return compile(model, layout, {});
}

WholeTensors evaluated(const Program& program, const ReferenceJson& given) {
  Processes processes = Processes::alone();
  LockstepComm comm(program.mesh(), processes);
  Executor executor(program, comm);
  executor.run(*program.find("init"), 0);
  const auto fill = [&](const std::string& name, const LocalShard& shard) {
    fill_shard({shard.type, given.at(name).get<std::vector<double>>()}, shard);
  };
  for (size_t v = 0; v < program.variables.size(); ++v)
    for (size_t d = 0; d < executor.devices(); ++d)
      fill(program.variables[v].decl.name, executor.variable(v, d));
  const EntryPoint* train = program.find("train");
  const EntryPoint& entry = train ? *train : *program.find("evaluate");
  executor.load(entry);
  for (const Binding& input : entry.inputs)
    for (size_t d = 0; d < executor.devices(); ++d) fill(input.name, executor.shard(entry, input.value, d));
  executor.run(entry, 0);
  return whole_outputs(executor, entry);
}

}  // namespace

std::map<std::string, double> reference_differences(const std::string& folder, const ReferenceLayout& layout,
                                                    DType dtype) {
  const std::string path = std::string(kSourceFolder) + "/testdata/" + folder + "/";
  const ReferenceJson expected = ReferenceJson::parse(read_text(path + "expected.json", "reference"));
  const WholeTensors found = evaluated(reference_program(path, layout, dtype), expected["given"]);
  std::map<std::string, double> differences;
  for (const auto& [name, values] : expected["results"].items()) {
    double& worst = differences[name];
    const auto output = found.find(name);
    if (output == found.end() || output->second.values.size() != values.size())
      worst = std::numeric_limits<double>::infinity();
    else
      for (size_t i = 0; i < values.size(); ++i)
        worst = std::max(worst, std::abs(output->second.values[i] - values[i].get<double>()));
  }
  for (const auto& output : found) differences.emplace(output.first, std::numeric_limits<double>::infinity());
  return differences;
}

}  // namespace mtfc
