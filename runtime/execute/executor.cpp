#include "runtime/execute/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/diagnostics/error.h"
#include "runtime/comm/transfer.h"
#include "runtime/compute/index_check.h"
#include "runtime/compute/kernel.h"
#include "runtime/compute/team.h"
#include "runtime/execute/finite_check.h"
#include "runtime/execute/ring_run.h"
#include "runtime/execute/timeline.h"
#include "runtime/fused/fused.h"
#include "runtime/processes/step_text.h"
#include "runtime/processes/watchdog.h"

namespace mtfc {
namespace {

constexpr size_t kNoDevice = static_cast<size_t>(-1);

// A kernel, a ring or a slice, prepared for one device.
struct PreparedStep {
  Kernel kernel;
  std::vector<const std::byte*> operands;
  std::vector<std::byte*> results;
  std::byte* workspace = nullptr;
  std::vector<Run> runs;  // of a slice
  std::unique_ptr<RingRun> ring;
  int64_t flops = 0;  // of the last run
};

// The input whose elements a value has in the same order, perhaps in another sharding or under other dimensions;
// nullptr if it is computed.
const Binding* input_of(const EntryPoint& entry, ValueId id) {
  while (entry.values[id].alias_of != kNoValue) id = entry.values[id].alias_of;
  const Value& value = entry.values[id];
  const auto found = std::find_if(entry.inputs.begin(), entry.inputs.end(), [&](const Binding& input) {
    const Value& own = entry.values[input.value];
    return own.type == value.type && tensor_name(own) == tensor_name(value);
  });
  return found == entry.inputs.end() ? nullptr : &*found;
}

// The position along the first dimension of an element; 0 for a scalar.
int64_t row_of(const Dims& dims, int64_t element) {
  return dims.empty() ? 0 : element / (elements(dims) / dims[0].size);
}

[[noreturn]] void throw_index_error(const EntryPoint& entry, const Step& step, const PreparedStep& prepared,
                                    const IndexError& error, const std::string& message) {
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    if (prepared.operands[i] != error.indices) continue;
    const Binding* input = input_of(entry, step.inputs[i]);
    if (!input) break;
    const Dims& dims = entry.values[input->value].type.dims;
    throw InputError(message, input->name, row_of(dims, error.element));
  }
  throw RunError(message);
}

bool can_be_infinite(const Value& value) {
  // An empty shard holds the identity of its reduction, which is infinite for max and min.
  return std::any_of(value.sharding.partial.begin(), value.sharding.partial.end(),
                     [](const Partial& partial) {
                       return partial.kind == ReduceKind::kMax || partial.kind == ReduceKind::kMin;
                     });
}

// "" where all elements are finite.
std::string not_finite_problem(const Value& value, const LocalShard& shard) {
  return can_be_infinite(value) ? "" : mtfc::not_finite_problem(value.name, shard);
}

}  // namespace

struct Executor::Loaded {
  const EntryPoint& entry;
  std::vector<std::vector<PreparedStep>> steps;  // by step, then by device; empty for collectives
  std::unique_ptr<Collectives> collectives;
  std::vector<std::span<const std::byte>>
      ahead;                    // for each step, the weights that a later one reads first; or empty
  std::vector<int64_t> runs;    // of each step in the last run
  std::vector<int64_t> rounds;  // done, of the loops around the step that runs
  int64_t round = 0;            // counts the rounds of all loops in a run, to tell random numbers apart
};

namespace {

// A device of the mesh, and the memory that its part of a program works in.
struct DeviceArena {
  const Mesh& mesh;
  const Coordinates& at;
  const Arena& arena;
};

PreparedStep prepare_step(const EntryPoint& entry, const Step& step, const DeviceArena& device,
                          int64_t fused_tile) {
  const auto& [mesh, at, arena] = device;
  PreparedStep prepared;
  if (step.kind() == StepKind::kRing) {
    prepared.ring = std::make_unique<RingRun>(entry, step, mesh, at, arena);
    return prepared;
  }
  std::vector<LocalTensor> operands, results;
  std::vector<Place> places;
  for (const ValueId value : step.inputs) {
    places.push_back(place_of(entry, value, mesh, at));
    operands.push_back({places.back().type, places.back().box});
    prepared.operands.push_back(arena.at(places.back().offset));
  }
  for (const ValueId value : step.outputs) {
    places.push_back(place_of(entry, value, mesh, at));
    results.push_back({places.back().type, places.back().box});
    prepared.results.push_back(arena.at(places.back().offset));
  }
  if (step.kind() == StepKind::kFused) {
    prepared.kernel = prepare_fused(entry, step, mesh, at, fused_tile);
    return prepared;
  }
  if (step.kind() == StepKind::kSlice) {
    check_invariant(places.size() == 2, "a slice has one input and one output");
    prepared.runs = plan_slice(places[0], places[1]);
    // Nothing moves where the kept part begins the buffer that both share.
    if (prepared.operands[0] == prepared.results[0] && prepared.runs.size() == 1 &&
        prepared.runs[0].from == 0)
      prepared.runs.clear();
    return prepared;
  }
  int64_t workspace_bytes = 0;
  if (step.workspace != kNoBuffer) {
    const Buffer& workspace = entry.buffers[step.workspace];
    workspace_bytes = workspace.bytes;
    prepared.workspace = arena.at(workspace.offset);
  }
  prepared.kernel = prepare_kernel(
      step.op()->signature.name,
      {step.attributes(), std::move(operands), std::move(results), step.name, workspace_bytes});
  return prepared;
}

// The weights that the step multiplies by, if they are large.
std::span<const std::byte> weights_of(const EntryPoint& entry, const Step& step, const DeviceArena& device) {
  constexpr int64_t kLarge = 64 * 1024;  // bytes; a processor fetches less than that while it starts a step
  if (step.kind() != StepKind::kKernel || step.op()->family != Family::kContraction) return {};
  for (const ValueId input : step.inputs) {
    const Buffer& buffer = entry.buffers[entry.values[root_of(entry, input)].buffer];
    if (buffer.kind == BufferKind::kVariable && buffer.bytes >= kLarge)
      return {device.arena.at(place_of(entry, input, device.mesh, device.at).offset),
              static_cast<size_t>(buffer.bytes)};
  }
  return {};
}

// For each step, the weights of the first product after it. After the last product comes the first one of the next run.
std::vector<std::span<const std::byte>> weights_ahead(const EntryPoint& entry, const DeviceArena& device) {
  std::vector<std::span<const std::byte>> ahead(entry.steps.size());
  std::span<const std::byte> next;
  for (int round = 0; round < 2; ++round)
    for (size_t i = entry.steps.size(); i-- > 0;) {
      ahead[i] = next;
      if (const auto weights = weights_of(entry, entry.steps[i], device); !weights.empty()) next = weights;
    }
  return ahead;
}

}  // namespace

Executor::Executor(const Program& program, Comm& comm, ExecutorOptions options)
    : program_(program), comm_(comm), options_(options), loaded_(program.entry_points.size()) {
  arenas_ = comm.make_arenas(program.arena_bytes());
}

Executor::~Executor() = default;

Executor::Loaded& Executor::loaded(const EntryPoint& entry) {
  const auto position = static_cast<size_t>(&entry - program_.entry_points.data());
  check_invariant(position < loaded_.size(), "an entry point is not of the program that is executed");
  std::unique_ptr<Loaded>& slot = loaded_[position];
  if (slot) return *slot;
  slot = std::make_unique<Loaded>(Loaded{entry, {}, nullptr, {}, {}, {}});
  slot->steps.resize(entry.steps.size());
  for (size_t i = 0; i < entry.steps.size(); ++i) {
    const Step& step = entry.steps[i];
    if (step.kind() == StepKind::kStart || step.kind() == StepKind::kWait || is_control(step.kind()))
      continue;
    for (size_t device = 0; device < devices(); ++device)
      slot->steps[i].push_back(prepare_step(
          entry, step, {comm_.mesh(), comm_.devices()[device], arenas_[device]}, options_.fused_tile));
  }
  slot->collectives = comm_.prepare(entry, arenas_);
  if (devices() == 1) slot->ahead = weights_ahead(entry, {comm_.mesh(), comm_.devices()[0], arenas_[0]});
  return *slot;
}

void Executor::load(const EntryPoint& entry) {
  loaded(entry);
}

void Executor::run(const EntryPoint& entry, int64_t step) {
  Loaded& prepared = loaded(entry);
  if (timeline_) timeline_->begin_run(entry, step);
  if (options_.check_finite) check_inputs(entry, step);
  for (std::vector<PreparedStep>& devices : prepared.steps)
    for (PreparedStep& ready : devices) ready.flops = 0;
  prepared.collectives->clear_counts();
  prepared.runs.assign(entry.steps.size(), 0);
  prepared.rounds.clear();
  prepared.round = 0;
  run_rounds(prepared, step);
  if (timeline_) timeline_->end_run();
}

void Executor::run_rounds(Loaded& prepared, int64_t step) {
  const EntryPoint& entry = prepared.entry;
  Watchdog* const watchdog = comm_.processes().watchdog();
  const auto position = static_cast<int>(&entry - program_.entry_points.data());
  Team* const team = prepared.ahead.empty() ? nullptr : Team::led();
  for (size_t i = 0; i < entry.steps.size(); i = next_step(prepared, i)) {
    if (watchdog) watchdog->pass({position, static_cast<int64_t>(i), step});
    at_.entry.store(position, std::memory_order_relaxed);
    at_.step.store(static_cast<int64_t>(i), std::memory_order_relaxed);
    at_.train_step.store(step, std::memory_order_relaxed);
    ++prepared.runs[i];
    if (team) team->read_ahead(prepared.ahead[i]);
    if (!observer_ && !timeline_) {
      run_step(prepared, i, step);
      continue;
    }
    const auto start = std::chrono::steady_clock::now();
    run_timed(prepared, i, step);
    if (observer_)
      observer_(entry, i, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  if (watchdog) watchdog->pass();
}

std::string Executor::place_text() const {
  const int position = at_.entry.load();
  if (position < 0) return "it";
  const EntryPoint& entry = program_.entry_points[static_cast<size_t>(position)];
  // Between two stores the step may be one of another entry point.
  const auto index = std::min(static_cast<size_t>(at_.step.load()), entry.steps.size() - 1);
  return step_text(entry, entry.steps[index], at_.train_step.load());
}

size_t Executor::next_step(Loaded& prepared, size_t index) {
  const Step& step = prepared.entry.steps[index];
  if (step.as<BeginLoop>()) {
    prepared.rounds.push_back(0);
    ++prepared.round;
  } else if (const auto* leave = step.as<LeaveLoop>()) {
    if (holds(prepared.entry, step.inputs[0])) return index + 1;
    prepared.rounds.pop_back();
    return leave->end.index() + 1;
  } else if (const auto* repeat = step.as<RepeatLoop>()) {
    ++prepared.round;
    const int64_t times = prepared.entry.steps[repeat->begin].as<BeginLoop>()->times;
    if (++prepared.rounds.back() != times) return repeat->begin.index() + 1;
    prepared.rounds.pop_back();
  }
  return index + 1;
}

// The same on all ranks, even where they have added up in another order.
bool Executor::holds(const EntryPoint& entry, ValueId condition) {
  bool any = false;
  for (size_t device = 0; device < devices(); ++device)
    any |= *reinterpret_cast<const bool*>(shard(entry, condition, device).data);
  return comm_.processes().maximum(any) > 0;
}

// Several devices of one process take turns at a kernel, and do the rest together.
void Executor::run_timed(Loaded& prepared, size_t index, int64_t train_step) {
  const StepKind kind = prepared.entry.steps[index].kind();
  const bool in_turn = kind == StepKind::kKernel || kind == StepKind::kFused;
  if (!timeline_ || (in_turn && devices() > 1)) {
    run_step(prepared, index, train_step);
    return;
  }
  const int64_t begin = Timeline::now();
  run_step(prepared, index, train_step);
  const int64_t end = Timeline::now();
  for (size_t device = 0; device < devices(); ++device) timeline_->add(device, index, {begin, end});
}

void Executor::run_step(Loaded& prepared, size_t index, int64_t train_step) {
  const Step& step = prepared.entry.steps[index];
  size_t device = kNoDevice;  // whose turn it is, where the devices take turns
  try {
    switch (step.kind()) {
      case StepKind::kKernel:
      case StepKind::kFused:
        run_kernels(prepared, index, train_step, device);
        prepared.collectives->progress();
        break;
      case StepKind::kRing:
        run_ring(prepared, index, train_step, device);
        break;
      case StepKind::kSlice:
        for (const PreparedStep& slice : prepared.steps[index])
          copy_runs(slice.runs, size_of(prepared.entry.values[step.inputs[0]].type.dtype), slice.operands[0],
                    slice.results[0]);
        break;
      case StepKind::kStart:
        prepared.collectives->start(index);
        break;
      case StepKind::kWait:
        prepared.collectives->wait(step.as<AwaitCollective>()->start.index());
        break;
      case StepKind::kLoop:
      case StepKind::kLeave:
      case StepKind::kRepeat:
        break;
    }
  } catch (const RunError& error) {
    const auto* failed = dynamic_cast<const MemberError*>(&error);
    const auto* wait = dynamic_cast<const WaitError*>(&error);
    std::string message = wait ? missing_text(program_, *wait) : error.what();
    if (device != kNoDevice) message = on_device(message, comm_.mesh(), comm_.devices()[device]);
    message =
        fmt::format("{}: {}", step_text(prepared.entry, failed ? failed->member : step, train_step), message);
    const auto* index_error = dynamic_cast<const IndexError*>(&error);
    if (index_error && device != kNoDevice)
      throw_index_error(prepared.entry, step, prepared.steps[index][device], *index_error, message);
    throw RunError(message);
  }
}

// All devices of this process are done with a turn before the next one begins.
void Executor::run_ring(Loaded& prepared, size_t index, int64_t train_step, size_t& device) {
  std::vector<PreparedStep>& ready = prepared.steps[index];
  KernelRun run;
  run.seed = options_.seed;
  run.step = train_step;
  run.check_finite = options_.check_finite;
  for (size_t d = 0; d < devices(); ++d) prepared.collectives->ring(index, d).begin();
  for (size_t turn = 0; turn < ready[0].ring->turns(); ++turn)
    for (device = 0; device < devices(); ++device) {
      PreparedRing& ring = prepared.collectives->ring(index, device);
      ready[device].flops += ready[device].ring->run(turn, ring, run);
      ring.progress();
      prepared.collectives->progress();
    }
  device = kNoDevice;
  for (size_t d = 0; d < devices(); ++d) prepared.collectives->ring(index, d).end();
  if (options_.check_finite)
    for (device = 0; device < devices(); ++device)
      check_results(prepared.entry, prepared.entry.steps[index], device);
  device = kNoDevice;
}

// `device` is the one whose turn it is, and kNoDevice at the end.
void Executor::run_kernels(Loaded& prepared, size_t index, int64_t train_step, size_t& device) {
  for (device = 0; device < devices(); ++device) {
    if (!timeline_ || devices() == 1) {
      run_kernel(prepared, index, device, train_step);
      continue;
    }
    const int64_t begin = Timeline::now();
    run_kernel(prepared, index, device, train_step);
    timeline_->add(device, index, {begin, Timeline::now()});
  }
  device = kNoDevice;
}

void Executor::run_kernel(Loaded& prepared, size_t index, size_t device, int64_t train_step) {
  PreparedStep& ready = prepared.steps[index][device];
  const int64_t round = prepared.rounds.empty() ? 0 : prepared.round;
  ready.flops += ready.kernel({ready.operands, ready.results, ready.workspace, options_.seed, train_step,
                               round, options_.check_finite});
  if (options_.check_finite) check_results(prepared.entry, prepared.entry.steps[index], device);
}

// Before an operation gets the blame for what it was given.
void Executor::check_inputs(const EntryPoint& entry, int64_t train_step) {
  for (const Binding& input : entry.inputs)
    for (size_t device = 0; device < devices(); ++device) {
      const Value& value = entry.values[input.value];
      const LocalShard numbers = shard(entry, input.value, device);
      const std::string problem = not_finite_problem(value, numbers);
      if (problem.empty()) continue;
      const int64_t element = global_index({numbers.type, numbers.box}, first_not_finite(numbers));
      throw InputError(fmt::format("{}, step {}: {}", entry.name, train_step + 1,
                                   on_device("the input " + problem, comm_.mesh(), comm_.devices()[device])),
                       input.name, row_of(value.type.dims, element));
    }
}

void Executor::check_results(const EntryPoint& entry, const Step& step, size_t device) {
  for (const ValueId id : step.outputs) {
    const std::string problem = not_finite_problem(entry.values[id], shard(entry, id, device));
    if (problem.empty()) continue;
    for (const Step& made : step.members())
      if (made.outputs[0] == id) throw MemberError(made, problem);
    throw RunError(problem);
  }
}

LocalShard Executor::shard(const EntryPoint& entry, ValueId value, size_t device) const {
  const Place place = place_of(entry, value, comm_.mesh(), comm_.devices()[device]);
  return {place.type, place.box, arenas_[device].at(place.offset)};
}

LocalShard Executor::variable(size_t index, size_t device) const {
  const ProgramVariable& variable = program_.variables[index];
  return {variable.decl.type,
          local_box(variable.decl.type.dims, variable.sharding, comm_.mesh(), comm_.devices()[device]),
          arenas_[device].at(variable.offset)};
}

LocalShard Executor::cache(const EntryPoint& entry, size_t index, size_t device) const {
  const ProgramVariable& cache = entry.caches[index];
  return {cache.decl.type,
          local_box(cache.decl.type.dims, cache.sharding, comm_.mesh(), comm_.devices()[device]),
          arenas_[device].at(cache.offset)};
}

void Executor::clear_caches(const EntryPoint& entry) {
  for (const ProgramVariable& cache : entry.caches)
    for (const Arena& arena : arenas_)
      std::memset(arena.at(cache.offset), 0, static_cast<size_t>(cache.bytes));
}

std::vector<StepWork> Executor::work(const EntryPoint& entry, size_t device) {
  const Loaded& prepared = loaded(entry);
  std::vector<StepWork> all;
  for (size_t i = 0; i < entry.steps.size(); ++i) {
    const Step& step = entry.steps[i];
    StepWork work;
    if (step.kind() == StepKind::kStart || step.kind() == StepKind::kRing)
      work.bytes = prepared.collectives->count(i).bytes_sent /
                   std::max<int64_t>(1, i < prepared.runs.size() ? prepared.runs[i] : 0);
    if (!prepared.steps[i].empty()) {
      work.flops = prepared.steps[i][device].flops;
      for (const std::vector<ValueId>* values : {&step.inputs, &step.outputs})
        for (const LocalType& type : local_types(entry, *values, comm_.mesh(), comm_.devices()[device]))
          work.bytes += bytes(type);
    }
    all.push_back(work);
  }
  return all;
}

std::vector<StepCount> Executor::counts(const EntryPoint& entry) {
  const Loaded& prepared = loaded(entry);
  const size_t count = entry.steps.size();
  std::vector<int64_t> most(4 * count), total(count);  // flops, elements, bytes, runs
  for (size_t i = 0; i < count; ++i) {
    for (const PreparedStep& step : prepared.steps[i]) {
      most[i] = std::max(most[i], step.flops);
      total[i] += step.flops;
    }
    most[3 * count + i] = i < prepared.runs.size() ? prepared.runs[i] : 0;
    if (entry.steps[i].kind() != StepKind::kStart && entry.steps[i].kind() != StepKind::kRing) continue;
    const CollectiveCost moved = prepared.collectives->count(i);
    most[count + i] = moved.elements;
    most[2 * count + i] = moved.bytes_sent;
  }
  comm_.processes().maximum(most);
  comm_.processes().sum(total);
  std::vector<StepCount> counts;
  for (size_t i = 0; i < count; ++i)
    counts.push_back({most[i], total[i], most[count + i], most[2 * count + i], most[3 * count + i]});
  return counts;
}

}  // namespace mtfc
