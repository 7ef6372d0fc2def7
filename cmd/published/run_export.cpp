#include "cmd/published/run_export.h"

#include <memory>

#include "core/diagnostics/error.h"
#include "core/diagnostics/suggest.h"
#include "core/program/program.h"
#include "runtime/data/array_file.h"

namespace mtfc {
namespace {

// The whole variable on rank 0. Every rank calls it with the same name.
StoredArray gathered_variable(Executor& executor, const std::string& name) {
  const std::vector<ProgramVariable>& variables = executor.program().variables;
  const ProgramVariable& variable = *find_named(variables, name);
  const auto v = static_cast<size_t>(&variable - variables.data());
  std::vector<LocalShard> shards;
  for (size_t device = 0; device < executor.devices(); ++device)
    shards.push_back(executor.variable(v, device));
  const auto bytes =
      std::make_shared<const std::vector<std::byte>>(gathered(executor.comm(), variable.sharding, shards));
  StoredArray array;
  array.file = name;
  array.type = stored_type(variable.decl.type.dtype);
  for (const Dim& dim : variable.decl.type.dims) array.shape.push_back(dim.size);
  array.data = bytes->data();
  array.owner = bytes;
  return array;
}

}  // namespace

void export_variables(Executor& executor, const Export* plan) {
  Processes& processes = executor.comm().processes();
  std::string error;
  if (processes.is_root()) {
    try {
      plan->write([&](const std::string& variable) {
        std::string name = variable;
        processes.broadcast(name);
        return gathered_variable(executor, variable);
      });
    } catch (const AgreedError&) {
      throw;
    } catch (const RunError& failed) {
      error = failed.what();
    }
    std::string end;
    processes.broadcast(end);
  } else {
    for (std::string name;;) {
      processes.broadcast(name);
      if (name.empty()) break;
      gathered_variable(executor, name);
    }
  }
  processes.require_success(error);
}

}  // namespace mtfc
