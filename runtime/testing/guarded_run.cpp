#include "runtime/testing/guarded_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/diagnostics/error.h"
#include "core/tensors/alignment.h"
#include "runtime/comm/comm_lockstep.h"

namespace mtfc {
namespace {

constexpr int64_t kGuardBytes = 128;
constexpr std::byte kGuard{0xA5};

// The same program with a place of its own for every buffer, and guard bytes behind it.
Program spread(Program program) {
  for (EntryPoint& entry : program.entry_points) {
    int64_t end = 0;
    for (Buffer& buffer : entry.buffers) {
      buffer.offset = end;
      end = aligned(end + buffer.bytes + kGuardBytes);
    }
    entry.arena_bytes = end;
  }
  return program;
}

// The first byte of a device's arena.
std::byte* arena_of(const Executor& executor, const EntryPoint& entry, size_t device) {
  for (const ValueId id : entry.values.ids())
    if (const BufferId buffer = entry.values[id].buffer; buffer != kNoBuffer)
      return executor.shard(entry, id, device).data - entry.buffers[buffer].offset;
  throw InternalError("an entry point without buffers");
}

}  // namespace

WholeTensors run_guarded(const Program& program, const WholeTensors& inputs, std::string& fault) {
  const Program guarded = spread(program);
  const EntryPoint& entry = *guarded.find("evaluate");
  Processes processes = Processes::alone();
  LockstepComm comm(guarded.mesh(), processes);
  Executor executor(guarded, comm);
  executor.load(entry);
  const auto guards = [&](auto use) {
    for (size_t device = 0; device < executor.devices(); ++device)
      for (const BufferId id : entry.buffers.ids()) {
        const Buffer& buffer = entry.buffers[id];
        use(arena_of(executor, entry, device) + buffer.offset + buffer.bytes, id);
      }
  };
  guards([](std::byte* guard, BufferId) { std::fill_n(guard, kGuardBytes, kGuard); });
  for (const Binding& input : entry.inputs)
    for (size_t device = 0; device < executor.devices(); ++device)
      fill_shard(inputs.at(input.name), executor.shard(entry, input.value, device));
  executor.run(entry, 0);
  fault.clear();
  guards([&](const std::byte* guard, BufferId id) {
    if (std::all_of(guard, guard + kGuardBytes, [](std::byte byte) { return byte == kGuard; })) return;
    if (fault.empty())
      fault =
          fmt::format("something wrote behind buffer {} of {} bytes", id.number(), entry.buffers[id].bytes);
  });
  return whole_outputs(executor, entry);
}

}  // namespace mtfc
