#include "cmd/generating/decode_verification.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "cmd/generating/prompt_entry.h"
#include "core/compile/pipeline.h"
#include "core/diagnostics/printable.h"
#include "core/diagnostics/suggest.h"
#include "core/model/decoding.h"
#include "core/tensors/data.h"
#include "formats/data/data_spec.h"
#include "runtime/comm/comm_lockstep.h"
#include "runtime/generate/decode_check.h"

namespace mtfc {
namespace {

// Relative to the largest logit. Rounding in f64 explains less, and a setting that is left out makes far more.
constexpr double kTolerance = 1e-8;

// The model's own tensor that has one of the names of decode's logits, or kNoTensor.
TensorId forward_logits(const Model& model) {
  const Graph& decode = model.decode->graph;
  std::vector<std::string> names = {decode.tensor(model.decode->logits).name};
  for (const auto& [name, tensor] : decode.aliases())
    if (tensor == model.decode->logits) names.push_back(name);
  for (const std::string& name : names)
    if (const TensorId found = model.graph.find(name); found != kNoTensor) return found;
  return kNoTensor;
}

// The model with its logits as the only output.
Model only_logits(Model model, TensorId logits) {
  model.outputs = {{"logits", logits}};
  model.train.reset();
  model.assignments.clear();
  model.decode.reset();
  return model;
}

// Sets `names` and returns "", or says why decode can't be compared.
std::string comparison_problem(const Program& forward, const std::vector<InputDecl>& encoded,
                               const Dims& token, ForwardLogits& names) {
  const EntryPoint& evaluate = *forward.find("evaluate");
  const auto type = [&](const Binding& binding) { return evaluate.values[binding.value].type; };
  std::vector<Binding> generated = evaluate.inputs;
  std::erase_if(generated, [&](const Binding& input) { return find_named(encoded, input.name) != nullptr; });
  if (generated.size() != 1 || !is_integer(type(generated[0]).dtype))
    return "the model's logits must depend on one input of tokens, apart from those of encode";
  const Dims tokens = type(generated[0]).dims, logits = type(evaluate.outputs[0]).dims;
  const Dims position = without(tokens, token), vocabulary = without(logits, tokens);
  if (position.size() != 1 || tokens.size() > 2 || vocabulary.size() != 1 ||
      logits.size() != tokens.size() + 1)
    return fmt::format(
        "the model computes logits [{}] from tokens [{}], which must be those of sequences and "
        "their positions",
        to_string(logits), to_string(tokens));
  names = {generated[0].name, position[0].name, vocabulary[0].name};
  return "";
}

// The numbers of ids that inputs have where the model says how to draw them: a source may have a vocabulary of its own.
std::map<std::string, int64_t> drawn_ids(const std::vector<InputDecl>& inputs, const Program& program) {
  std::map<std::string, int64_t> ids;
  for (const InputDecl& input : inputs) {
    if (!is_integer(input.type.dtype) || !input.source.starts_with("random:")) continue;
    const InputData data = read_input_data({input.name, input.type.dtype, input.source_location},
                                           input.source, lookup_of(program.names));
    if (const auto* random = std::get_if<RandomSource>(&data.source))
      ids[input.name] = std::max<int64_t>(1, static_cast<int64_t>(random->high));
  }
  return ids;
}

// Programs that run in this process.
struct Machine {
  explicit Machine(Program of, uint64_t seed)
      : program(std::move(of)), comm(program.mesh(), processes), executor(program, comm, {seed, false}) {}
  Program program;
  Processes processes = Processes::alone();
  LockstepComm comm;
  Executor executor;
};

std::string difference_text(const LogitDifference& first, const std::string& where) {
  return fmt::format(
      "decode gives other logits than the model itself, {}: at position {}, for token {} of sequence {}{}, "
      "it gives {}, and the model gives {}; rounding explains {:.2g}\n",
      where, first.position, first.token, first.sequence,
      first.beam == 0 ? "" : fmt::format(", beam {}", first.beam), number_text(first.decoded),
      number_text(first.expected), first.allowed);
}

// The program of decode under the layout. If decode can't run under it, sets `problem` to the reason and returns
// nothing.
std::optional<Program> compiled(const Model& decode, const Layout& layout, const CompileOptions& options,
                                std::string& problem) {
  try {
    return compile(decode, layout, options);
  } catch (const UserError& error) {
    problem = error.diagnostics().empty() ? error.what() : error.diagnostics().front().message;
    return std::nullopt;
  }
}

}  // namespace

DecodeVerdict verify_decode(const Sources& sources, const ModelOptions& options,
                            std::optional<int64_t> positions, uint64_t seed) {
  ModelOptions wide = options;
  wide.dtype = "f64";
  std::vector<Diagnostic> unused;
  const auto [model, layouts] = read_model_and_layouts({&sources, 1}, wide, unused);
  if (!model.decode) return {};
  if (!model.decode->equals_model)
    return {fmt::format("decode is not compared: its logits are those of the model only if {}\n",
                        model.decode->equal_if)};
  const TensorId logits = forward_logits(model);
  if (logits == kNoTensor)
    return {fmt::format("decode is not compared: the model has no tensor '{}'\n",
                        model.decode->graph.tensor(model.decode->logits).name)};
  CompileOptions compile_options = compile_options_of(options);
  Machine forward(compile(only_logits(model, logits), {}, compile_options), seed);
  ForwardLogits names;
  if (const std::string problem =
          comparison_problem(forward.program, encode_inputs(model), token_type(*model.decode).dims, names);
      !problem.empty())
    return {fmt::format("decode is not compared: {}\n", problem)};
  names.ids = drawn_ids(encode_inputs(model), forward.program);
  forward.executor.run(*forward.program.find("init"), 0);
  disturb_variables(forward.executor, seed);

  compile_options.decode = true;
  const Model decode = only_decode(model);
  const int64_t count = std::min(decode_positions(*decode.decode), positions.value_or(INT64_MAX));
  std::string unused_reason;
  const bool reads_prompts = prompt_positions(model, unused_reason).has_value();
  const auto compare = [&](Program program) {
    if (reads_prompts)
      if (std::optional<EntryPoint> prompt = compiled_prompt(model, compile_options, program))
        program.entry_points.push_back(*std::move(prompt));
    Machine machine(std::move(program), seed);
    copy_variables(forward.executor, machine.executor);
    return compare_decode(forward.executor, machine.executor, names, count, kTolerance);
  };
  const DecodeComparison alone = compare(compile(decode, {}, compile_options));
  if (alone.first) return {difference_text(*alone.first, "on one device"), false};
  std::string places = "on one device", note;
  if (layouts.front().mesh.devices() > 1) {
    std::string problem;
    if (std::optional<Program> program = compiled(decode, layouts.front(), compile_options, problem)) {
      const DecodeComparison split = compare(std::move(*program));
      if (split.first) return {difference_text(*split.first, "under the layout"), false};
      places += " and under the layout";
    } else {
      note = fmt::format("decode can't run under this layout: {}\n", problem);
    }
  }
  return {
      fmt::format("decode gives the model's logits at {} positions, {}\n{}", alone.positions, places, note)};
}

}  // namespace mtfc
