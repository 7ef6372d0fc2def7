#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "cmd/command.h"
#include "cmd/files/files.h"
#include "cmd/generating/generate_options.h"
#include "cmd/launch/launch.h"
#include "cmd/running/run_data.h"
#include "cmd/running/same_files.h"
#include "cmd/running/stored_settings.h"
#include "cmd/terminal/interrupt.h"
#include "cmd/terminal/standard_output.h"
#include "core/model/annotations.h"
#include "core/model/decoding.h"
#include "core/passes/pipeline.h"

namespace mtfc {
namespace {

constexpr int64_t kFewestPositions = 64;

const TensorType& token_type(const Model& model) {
  for (const InputDecl& input : model.decode->inputs)
    if (input.name == kTokenInput) return input.type;
  throw InternalError("decode has no token");
}

// Returns whether --set gives the size of `dim`.
bool is_set(const std::vector<std::string>& sets, const std::string& dim) {
  return std::any_of(sets.begin(), sets.end(),
                     [&](const std::string& set) { return set.starts_with(dim + "="); });
}

// The --set arguments for decode's sequences and beams that the options ask for, unless the user has set
// them.
std::vector<std::string> sizes(const Model& model, const GenerateOptions& options) {
  const Dims& dims = token_type(model).dims;
  const int64_t beams = options.beams.value_or(1);
  const int64_t sequences =
      static_cast<int64_t>(options.prompt_count()) * (options.beams ? 1 : options.samples);
  if (dims.empty() && sequences > 1)
    throw UserError(fmt::format("the model '{}' decodes one sequence at a time, but {} were requested",
                                model.name, sequences),
                    "its decode needs a dimension for them");
  if (dims.size() < 2 && beams > 1)
    throw UserError(fmt::format("the model '{}' can't search with beams", model.name),
                    "its decode needs a token of two dimensions, the second for beams, and the input 'seen'");
  std::vector<std::string> sets;
  if (!dims.empty() && !is_set(options.model.sets, dims[0].name))
    sets.push_back(fmt::format("{}={}", dims[0].name, sequences));
  else if (!dims.empty() && dims[0].size < sequences)
    throw UserError(
        fmt::format("--set {}={} has no room for {} sequences", dims[0].name, dims[0].size, sequences));
  if (dims.size() > 1 && !is_set(options.model.sets, dims[1].name))
    sets.push_back(fmt::format("{}={}", dims[1].name, beams));
  else if (dims.size() > 1 && dims[1].size != beams)
    throw UserError(
        fmt::format("--set {}={} contradicts the {} beams requested", dims[1].name, dims[1].size, beams));
  return sets;
}

// Facts about the model that its program lacks.
struct Facts {
  int64_t positions = 0, vocabulary = 0;
};

// Returns whether the decode of `smaller` can replace that of `program` while sequences are short: all
// weights must have the same offsets.
bool fits(const Program& smaller, const Program& program) {
  return std::equal(smaller.variables.begin(), smaller.variables.end(), program.variables.begin(),
                    program.variables.end(), [](const ProgramVariable& a, const ProgramVariable& b) {
                      return a.decl.name == b.decl.name && a.decl.type == b.decl.type &&
                             a.sharding == b.sharding && a.offset == b.offset;
                    });
}

// Adds versions of decode with fewer places, kFewestPositions and then twice as many each time, if the model
// has a dimension for them that nothing splits: the cost of a token then depends on its position.
void add_shorter_decodes(const Sources& sources, const ModelOptions& sized, const CompileOptions& options,
                         const Model& model, Program& program) {
  const Layout& layout = program.layout;
  const Dims& token = token_type(model).dims;
  const int64_t beams = token.size() > 1 ? token[1].size : 1;
  for (const InputDecl& input : model.decode->inputs) {
    if (input.name != kSeenInput) continue;
    const Dim& places = input.type.dims.back();
    if (is_set(sized.sets, places.name) || names_dim(layout, places.name)) return;
    for (int64_t positions = kFewestPositions; positions * beams < places.size; positions *= 2) {
      ModelOptions shorter = sized;
      shorter.sets.push_back(fmt::format("{}={}", places.name, positions * beams));
      std::vector<Diagnostic> unused;
      CompileOptions alike = options;
      for (const ProgramVariable& variable : program.variables)
        alike.variables.emplace(variable.decl.name, variable.sharding);
      Program smaller =
          compile(only_decode(read_model_and_layouts({&sources, 1}, shorter, unused).model), layout, alike);
      if (!fits(smaller, program)) return;
      for (EntryPoint& entry : smaller.entry_points)
        if (entry.name == "decode") program.entry_points.push_back(std::move(entry));
    }
  }
}

Program program_of(const Sources& sources, const GenerateOptions& options, Facts& facts,
                   std::vector<Diagnostic>& warnings) {
  std::vector<Diagnostic> first_warnings;
  const Model given = read_model_and_layouts({&sources, 1}, options.model, first_warnings).model;
  if (!given.decode)
    throw UserError(fmt::format("the model '{}' can't generate: it has no \"decode\"", given.name),
                    "models/char_lm.json shows one");
  ModelOptions sized = options.model;
  for (std::string& set : sizes(given, options)) sized.sets.push_back(std::move(set));
  auto [model, layouts] = read_model_and_layouts({&sources, 1}, sized, warnings);
  const Annotations check_names(model, layouts.front());
  model = only_decode(std::move(model));
  facts.positions = decode_positions(*model.decode);
  CompileOptions compile_options = compile_options_of(options.model);
  compile_options.decode = true;
  Program program = compile(model, layouts.front(), compile_options);
  std::erase_if(program.entry_points, [](const EntryPoint& entry) { return entry.name == "evaluate"; });
  const EntryPoint& decode = *program.find("decode");
  facts.vocabulary = decode.values[decode.outputs[0].value].type.dims.back().size;
  add_shorter_decodes(sources, sized, compile_options, model, program);
  return program;
}

// Prints results: a single sequence as its tokens are chosen, several at the end.
class Printer {
 public:
  Printer(const GenerateOptions& options, const std::vector<Tokens>& prompts)
      : options_(options), prompts_(prompts) {
    streams_ = options.file.empty() && !options.beams && prompts.size() == 1 && options.samples == 1;
  }

  void begin() {
    if (streams_) print(text_of(prompts_[0], options_.as_bytes()));
  }
  void add(int64_t token) {
    if (streams_) print((options_.as_bytes() ? "" : ",") + text_of({token}, options_.as_bytes()));
  }
  void end(const GenerationResult& result) {
    if (streams_) return print("\n");
    std::string text;
    for (size_t i = 0; i < result.sequences.size(); ++i) {
      const Generated& sequence = result.sequences[i];
      if (result.sequences.size() > 1)
        text += fmt::format("--- {} of {}{} ---\n", i + 1, result.sequences.size(),
                            sequence.score ? fmt::format(", score {:.6g}", *sequence.score) : "");
      Tokens all = prompts_[sequence.prompt];
      all.insert(all.end(), sequence.tokens.begin(), sequence.tokens.end());
      text += text_of(all, options_.as_bytes()) + "\n";
    }
    if (options_.file.empty())
      print(text);
    else
      write_text(options_.file, text);
  }

 private:
  static void print(const std::string& text) {
    std::cout << text;
    flush_standard_output();
  }
  const GenerateOptions& options_;
  const std::vector<Tokens>& prompts_;
  bool streams_ = false;
};

void report(const GenerationResult& result) {
  std::cerr << fmt::format(
      "{} positions in {:.3g} s: {:.3g} ms each\n", result.positions, result.seconds,
      1e3 * result.seconds / static_cast<double>(std::max<int64_t>(1, result.positions)));
}

struct Prepared {
  Facts facts;
  std::vector<Tokens> prompts;  // on the rank that speaks
  GenerationOptions generation;
  VariableValues values;
};

int generate_here(const Program& program, const GenerateOptions& options, Prepared& prepared, Comm& comm) {
  Executor executor(program, comm, {options.seed, false});
  require_same_files(comm.processes(), files_of(prepared.values));
  require_intact(comm.processes(), prepared.values);
  if (prepared.values.size() < program.variables.size()) executor.run(*program.find("init"), 0);
  fill_variables(executor, prepared.values);
  prepared.values.clear();
  const bool speaks = comm.processes().speaks();
  Printer printer(options, prepared.prompts);
  if (speaks) printer.begin();
  const GenerationResult result =
      generate(executor, prepared.prompts, prepared.generation, [&](int64_t token) { printer.add(token); });
  if (speaks) {
    printer.end(result);
    if (!options.model.quiet) report(result);
  }
  if (result.signal == 0) return kExitSuccess;
  InterruptGuard::told();
  if (speaks)
    std::cerr << fmt::format("mtfc: {}: stopped after {} positions\n", interrupted_text(result.signal),
                             result.positions);
  return interrupted_code(result.signal);
}

int run(const GenerateOptions& options) {
  limit_spinning();
  check(options);
  Prepared prepared;
  Execution execution;
  std::optional<StoredSettings> stored;
  std::vector<std::string> loads = options.loads;
  if (options.checkpoint) loads.insert(loads.begin(), *options.checkpoint);
  execution.defaults = [&] {
    stored = stored_settings(loads);
    return stored ? stored->notes.sets : std::vector<std::string>();
  };
  execution.compile = [&](const Sources& sources, std::vector<Diagnostic>& warnings) {
    return program_of(sources, options, prepared.facts, warnings);
  };
  execution.require_ready = [&](const Program& program) {
    if (stored && !options.model.quiet) tell_settings(*stored, options.model.sets, program, false);
    if (!options.model.quiet)
      for (const std::string& folder : loads) warn_of_incomplete(folder);
    prepared.prompts = read_prompts(options, prepared.facts.vocabulary);
    size_t longest = 0;
    for (const Tokens& prompt : prepared.prompts) longest = std::max(longest, prompt.size());
    prepared.generation =
        generation_options(options, static_cast<int64_t>(longest), prepared.facts.positions);
    if (!options.file.empty()) require_writable(options.file);
    if (!options.checkpoint && options.loads.empty() && !options.model.quiet)
      std::cerr << fmt::format(
          "mtfc: warning: there is no --checkpoint, so the weights have their initial values for --seed {}\n",
          options.seed);
  };
  execution.open = [&](const Program& program, const std::string&) {
    prepared.values = read_loads(program, loads, options.maps);
  };
  execution.run = [&](const Program& program, Comm& comm) {
    return generate_here(program, options, prepared, comm);
  };
  return execute(options, execution);
}

std::function<int()> setup(CommandLine& line) {
  auto options = std::make_shared<GenerateOptions>();
  add_model_options(line, options->model);
  add_layout_options(line, options->layout);
  add_propagate_option(line, options->model);
  add_execution_options(line, *options);
  add_generate_options(line, *options);
  return [options] { return run(*options); };
}

}  // namespace

const Command kGenerateCommand = {
    .name = "generate",
    .summary = "sample from a language model, or search for its likeliest continuation",
    .examples =
        "  mtfc generate char_lm.json --checkpoint ck --prompt \"The \" --length 100 --temperature 0.8 "
        "--top-k 40\n"
        "  mtfc generate char_lm.json --checkpoint ck --prompt-file start.txt --greedy --stop .\n"
        "  mtfc generate transformer_lm.json --load weights.safetensors --prompt-tokens 17,204,9 --beams 4 "
        "\\\n"
        "      --length-penalty 0.6 --length 20\n"
        "  mtfc generate char_lm.json --checkpoint ck --prompt \"A\" --samples 8 -o samples.txt \\\n"
        "      --mesh rows:2,cols:2 --layout batch:rows,heads:cols",
    .setup = setup,
};

}  // namespace mtfc
