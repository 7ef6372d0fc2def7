#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <utility>

#include "cmd/command.h"
#include "cmd/files/files.h"
#include "cmd/generating/generate_options.h"
#include "cmd/generating/prompt_entry.h"
#include "cmd/generating/result_printer.h"
#include "cmd/launch/launch.h"
#include "cmd/running/run_data.h"
#include "cmd/running/same_files.h"
#include "cmd/running/stored_settings.h"
#include "cmd/terminal/interrupt.h"
#include "core/compile/pipeline.h"
#include "core/diagnostics/suggest.h"
#include "core/model/annotations.h"
#include "core/model/decoding.h"
#include "formats/program/program_reader.h"

namespace mtfc {
namespace {

constexpr int64_t kFewestPositions = 64;
constexpr int64_t kMostAtOnce = 256;  // sequences, unless --set gives another number
constexpr int64_t kLongPrompt = 64;   // tokens, from which the user is told if they are read one by one
constexpr int64_t kMostPadding = 2;   // positions that are computed for each token of a prompt

// Returns whether --set gives the size of `dim`.
bool is_set(const std::vector<std::string>& sets, const std::string& dim) {
  return std::any_of(sets.begin(), sets.end(),
                     [&](const std::string& set) { return set.starts_with(dim + "="); });
}

// The --set arguments for decode's sequences and beams that the options ask for, unless the user has set
// them. The rows of --input are made as many at a time as the model has sequences.
std::vector<std::string> sizes(const Model& model, const GenerateOptions& options) {
  const Dims& dims = token_type(*model.decode).dims;
  const int64_t beams = options.beams.value_or(1);
  const auto prompts = static_cast<int64_t>(std::max(options.prompt_count(), options.source_count()));
  const int64_t sequences =
      options.source_count() > 0 ? prompts : prompts * (options.beams ? 1 : options.samples);
  if (dims.empty() && sequences > 1)
    throw UserError(fmt::format("the model '{}' decodes one sequence at a time, but {} were requested",
                                model.name, sequences),
                    "its decode needs a dimension for them");
  if (dims.size() < 2 && beams > 1)
    throw UserError(fmt::format("the model '{}' can't search with beams", model.name),
                    "its decode needs a token of two dimensions, the second for beams, and the input 'seen'");
  std::vector<std::string> sets;
  if (!dims.empty() && !is_set(options.model.sets, dims[0].name) && options.inputs.empty())
    sets.push_back(fmt::format("{}={}", dims[0].name, std::min(sequences, kMostAtOnce)));
  if (dims.size() > 1 && !is_set(options.model.sets, dims[1].name))
    sets.push_back(fmt::format("{}={}", dims[1].name, beams));
  else if (dims.size() > 1 && dims[1].size != beams)
    throw UserError(
        fmt::format("--set {}={} contradicts the {} beams requested", dims[1].name, dims[1].size, beams));
  return sets;
}

// Throws UserError if the options do not give what the model generates from.
void require_beginnings(const Model& model, const GenerateOptions& options) {
  const Dims& dims = token_type(*model.decode).dims;
  require_sources(model, dims.empty() ? std::nullopt : std::optional<Dim>(dims[0]), options);
  if (options.prompt_count() == 0 && !options.has_sources())
    throw UserError("there is no prompt", "give --prompt TEXT, --prompt-file FILE or --prompt-tokens 1,2,3");
}

// Facts about the model that its program lacks.
struct Facts {
  int64_t positions = 0, vocabulary = 0;
  std::map<std::string, DType> dtypes = {};  // of the model's variables, before --weights stores them
};

// Reads the model with these sizes, its weights stored as the options say.
ModelAndLayouts read_sized(const Sources& sources, const GenerateOptions& options,
                           std::vector<std::string> sets, std::vector<Diagnostic>& warnings) {
  ModelOptions sized = options.model;
  sized.sets = std::move(sets);
  // Weights that are stored in fewer bits are widened for products in f32.
  if (options.weights() != WeightFormat::kF32) sized.dtype = to_string(DType::kF32);
  ModelAndLayouts read = read_model_and_layouts({&sources, 1}, sized, warnings);
  read.model = with_form(std::move(read.model), {.weights = options.weights()});
  return read;
}

// Returns whether the decode of `smaller` can replace that of `program` while sequences are short: all
// weights must have the same offsets, the caches the same shardings, and those that encode fills the same sizes.
bool fits(const Program& smaller, const Program& program) {
  const EntryPoint* encode = program.find("encode");
  const auto is_filled = [&](const ProgramVariable& cache) {
    return encode && find_named(encode->caches, cache.decl.name);
  };
  const auto are_alike = [&](const ProgramVariable& a, const ProgramVariable& b) {
    return a.decl.name == b.decl.name && a.sharding == b.sharding &&
           (!is_filled(b) || a.decl.type == b.decl.type);
  };
  const std::vector<ProgramVariable>&of_smaller = smaller.find("decode")->caches,
        &caches = program.find("decode")->caches;
  return share_weights(smaller, program) &&
         std::equal(of_smaller.begin(), of_smaller.end(), caches.begin(), caches.end(), are_alike);
}

// Adds versions of decode with fewer places, kFewestPositions and then twice as many each time, if the model
// has a dimension for them that nothing splits and that steps read as a whole: the cost of a token then depends on its
// position.
void add_shorter_decodes(const Sources& sources, const GenerateOptions& options,
                         const std::vector<std::string>& sets, const CompileOptions& compile_options,
                         const Model& model, Program& program) {
  const Layout& layout = program.layout;
  const Dims& token = token_type(*model.decode).dims;
  const int64_t beams = token.size() > 1 ? token[1].size : 1;
  for (const InputDecl& input : model.decode->inputs) {
    if (input.name != kSeenInput) continue;
    const Dim& places = input.type.dims.back();
    if (is_set(sets, places.name) || names_dim(layout, places.name)) return;
    // Attention converts all of a bf16 cache.
    const std::vector<ProgramVariable>& caches = program.find("decode")->caches;
    const bool is_narrow = std::any_of(caches.begin(), caches.end(), [](const ProgramVariable& cache) {
      return cache.decl.type.dtype == DType::kBF16;
    });
    if (!is_narrow && !reads_all_places(*model.decode, places.name)) return;
    for (int64_t positions = kFewestPositions; positions * beams < places.size; positions *= 2) {
      std::vector<std::string> shorter = sets;
      shorter.push_back(fmt::format("{}={}", places.name, positions * beams));
      std::vector<Diagnostic> unused;
      Program smaller = compile(only_decode(read_sized(sources, options, shorter, unused).model), layout,
                                compile_options, with_variables(program.plan, program));
      if (!fits(smaller, program)) return;
      for (EntryPoint& entry : smaller.entry_points)
        if (entry.name == "decode") program.entry_points.push_back(std::move(entry));
    }
  }
}

// The model with other sizes; nothing where it does not allow them.
std::optional<Model> resized(const Sources& sources, const GenerateOptions& options,
                             const std::vector<std::string>& sets) {
  try {
    std::vector<Diagnostic> unused;
    return read_sized(sources, options, sets, unused).model;
  } catch (const UserError&) {
    return std::nullopt;
  }
}

// The model with as many positions as the prompts have `tokens`; nothing where it then computes something else.
std::optional<Model> with_positions(const Sources& sources, const GenerateOptions& options,
                                    std::vector<std::string> sets, const Model& model, const Dim& position,
                                    int64_t tokens) {
  std::erase_if(sets, [&](const std::string& set) { return set.starts_with(position.name + "="); });
  sets.push_back(fmt::format("{}={}", position.name, tokens));
  std::optional<Model> made = resized(sources, options, sets);
  std::string why;
  if (!made || !prompt_positions(*made, why) || !differ_in_length_alone(model, *made, position.size, tokens))
    return std::nullopt;
  return made;
}

// Adds an entry point for the first `tokens` tokens of the prompts, which are all but the last one of the shortest. It
// has as many positions where the model then computes the same, or else all that the model has. `model` is not reduced.
void add_prompt(const Sources& sources, const GenerateOptions& options, const std::vector<std::string>& sets,
                const CompileOptions& compile_options, const Model& model, int64_t tokens, Program& program,
                std::vector<Diagnostic>& warnings) {
  if (tokens == 0) return;
  std::string why;
  if (const std::optional<Dim> position = prompt_positions(model, why)) {
    std::optional<Model> fitting = with_positions(sources, options, sets, model, *position, tokens);
    const bool is_short = !fitting && position->size / kMostPadding > tokens + 1;
    std::optional<EntryPoint> entry;
    if (!is_short) entry = compiled_prompt(fitting ? *std::move(fitting) : model, compile_options, program);
    if (entry) return program.entry_points.push_back(*std::move(entry));
    why = is_short ? fmt::format(
                         "the model computes all of its {} positions or none, and a prompt has less than "
                         "half of them",
                         position->size)
                   : "the layout does not allow it";
  }
  if (tokens + 1 >= kLongPrompt)
    warnings.push_back(plain_warning(fmt::format("prompts are read token by token, since {}", why),
                                     "--one-by-one says that this is wanted"));
}

Program program_of(const Sources& sources, const GenerateOptions& options, Facts& facts,
                   std::vector<Diagnostic>& warnings) {
  std::vector<Diagnostic> first_warnings;
  const Model given = read_model_and_layouts({&sources, 1}, options.model, first_warnings).model;
  if (!given.decode)
    throw UserError(fmt::format("the model '{}' can't generate: it has no \"decode\"", given.name),
                    "models/char_lm.json shows one");
  require_beginnings(given, options);
  for (const VariableDecl& variable : given.variables)
    facts.dtypes.emplace(variable.name, variable.type.dtype);
  std::vector<std::string> sets = options.model.sets;
  for (std::string& set : sizes(given, options)) sets.push_back(std::move(set));
  auto [model, layouts] = read_sized(sources, options, sets, warnings);
  // The sizes that a layout was found for are compared with those of the model as it is given, and not with one
  // sequence.
  const auto is_about_sizes = [](const Diagnostic& note) { return note.location.pointer == "/found_for"; };
  std::erase_if(warnings, is_about_sizes);
  std::copy_if(first_warnings.begin(), first_warnings.end(), std::back_inserter(warnings), is_about_sizes);
  const Annotations check_names(model, layouts.front());
  const Model whole = std::exchange(model, only_decode(model));
  facts.positions = decode_positions(*model.decode);
  Program program;
  if (!sources.program_text.empty()) {
    program = read_sent_program(sources.program_text);
  } else {
    CompileOptions compile_options = compile_options_of(options.model);
    compile_options.decode = true;
    program = compile(model, layouts.front(), compile_options);
    std::erase_if(program.entry_points, [](const EntryPoint& entry) { return entry.name == "evaluate"; });
    add_shorter_decodes(sources, options, sets, compile_options, model, program);
    add_prompt(sources, options, sets, compile_options, whole, std::stoll(sources.told), program, warnings);
  }
  const EntryPoint& decode = *program.find("decode");
  facts.vocabulary = decode.values[decode.outputs[0].value].type.dims.back().size;
  return program;
}

// Says how many sequences are complete, every few seconds.
class RoundProgress {
 public:
  void show(int64_t done, int64_t all) {
    const auto now = std::chrono::steady_clock::now();
    if (done == all || now - last_ < std::chrono::seconds(5)) return;
    std::cerr << fmt::format("{} of {} sequences\n", done, all);
    last_ = now;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

void report(const GenerationResult& result) {
  if (result.prompt_positions > 0)
    std::cerr << fmt::format("{} positions of the prompt in {:.3g} s: {:.3g} ms each\n",
                             result.prompt_positions, result.prompt_seconds,
                             1e3 * result.prompt_seconds / static_cast<double>(result.prompt_positions));
  std::cerr << fmt::format(
      "{} positions in {:.3g} s: {:.3g} ms each\n", result.positions, result.seconds,
      1e3 * result.seconds / static_cast<double>(std::max<int64_t>(1, result.positions)));
}

// Says how much memory the stored weights save. `unstored`: the dtypes of the model's variables before.
void tell_weights(const Program& program, const std::map<std::string, DType>& unstored) {
  int64_t elements = 0, stored = 0, bytes = 0, before = 0;
  for (const ProgramVariable& variable : program.variables) {
    const TensorType& type = variable.decl.type;
    bytes += mtfc::bytes(type);
    if (variable.decl.is_scale) continue;
    const int64_t count = mtfc::elements(type.dims);
    const DType dtype = unstored.at(variable.decl.name);
    elements += count;
    before += count * size_of(dtype);
    if (type.dtype != dtype) stored += count;
  }
  if (stored == 0) {
    std::cerr << "mtfc: warning: --weights changes nothing, since the model has no f32 weights that could be "
                 "stored in fewer bits\n";
    return;
  }
  const auto millions = [](int64_t number) { return 1e-6 * static_cast<double>(number); };
  std::cerr << fmt::format(
      "{:.4g} of {:.4g} million weights are stored in fewer bits: {:.4g} MB in place of {:.4g}\n",
      millions(stored), millions(elements), millions(bytes), millions(before));
}

struct Prepared {
  Facts facts;
  Beginnings beginnings;
  GenerationOptions generation;
  VariableValues values;
};

int generate_here(const Program& program, const GenerateOptions& options, Prepared& prepared, Comm& comm) {
  Executor executor(program, comm, {options.seed, false});
  require_same_files(comm.processes(), files_of(prepared.values));
  if (prepared.beginnings.sources)
    require_same_files(comm.processes(), files_of(prepared.beginnings.sources->inputs));
  require_intact(comm.processes(), prepared.values);
  const auto is_filled = [](const ProgramVariable& variable) { return !variable.decl.is_scale; };
  if (static_cast<std::ptrdiff_t>(prepared.values.size()) <
      std::count_if(program.variables.begin(), program.variables.end(), is_filled))
    executor.run(*program.find("init"), 0);
  fill_variables(executor, prepared.values);
  prepared.values.clear();
  const bool is_root = comm.processes().is_root();
  if (is_root && options.weights() != WeightFormat::kF32 && !options.model.quiet)
    tell_weights(program, prepared.facts.dtypes);
  GenerationObserver observer;
  std::optional<ResultPrinter> printer;
  if (is_root) {
    const bool is_alone = options.inputs.empty() && options.samples == 1 &&
                          std::max(options.prompt_count(), options.source_count()) == 1;
    printer.emplace(options, prepared.beginnings.prompts, is_alone);
    printer->begin();
    observer.token = [&](int64_t token) { printer->add(token); };
    if (!options.model.quiet)
      observer.round = [progress = RoundProgress()](int64_t done, int64_t all) mutable {
        progress.show(done, all);
      };
  }
  const GenerationResult result = generate(executor, prepared.beginnings, prepared.generation, observer);
  if (is_root) {
    printer->end(result, program.model);
    if (!options.model.quiet) report(result);
  }
  if (result.signal == 0) return kExitSuccess;
  InterruptGuard::told();
  if (is_root)
    std::cerr << fmt::format("mtfc: {}: stopped after {} positions\n", interrupted_text(result.signal),
                             result.positions);
  return interrupted_code(result.signal);
}

// Opens the weights and the sources. Throws UserError if the results would be written to one of these files.
void open_files(const Program& program, const GenerateOptions& options, const std::vector<std::string>& loads,
                Prepared& prepared) {
  WeightGaps none;
  prepared.values = read_loads(program, {loads, options.maps}, none);
  prepared.beginnings.prompt_count = std::max<size_t>(1, options.prompt_count());
  std::vector<FileSample> files = files_of(prepared.values);
  if (program.find("encode")) {
    prepared.beginnings.sources = open_sources(program, options);
    const std::vector<FileSample> sources = files_of(prepared.beginnings.sources->inputs);
    files.insert(files.end(), sources.begin(), sources.end());
  }
  std::vector<std::string> read = options.maps;
  for (const FileSample& file : files) read.push_back(file.path);
  require_unread(options.file, read);
}

int run(GenerateOptions options) {
  start_for_runs();
  check(options);
  take_tokenizer(options);
  result_format(options);
  Prepared prepared;
  Execution execution;
  std::optional<StoredSettings> stored;
  std::vector<std::string> loads = options.loads;
  if (options.checkpoint) loads.insert(loads.begin(), *options.checkpoint);
  execution.defaults = [&] {
    stored = stored_settings(loads);
    return stored ? Defaults{stored->notes.sets} : Defaults();
  };
  std::vector<Prompt> read;
  execution.tell = [&] {
    read = read_prompts(options);
    size_t shortest = read.empty() || options.one_by_one ? 1 : SIZE_MAX;
    for (const Prompt& prompt : read) shortest = std::min(shortest, prompt.tokens.size());
    return std::to_string(shortest - 1);  // the logits of the last token are needed
  };
  execution.compile = [&](const Sources& sources, std::vector<Diagnostic>& warnings) {
    return program_of(sources, options, prepared.facts, warnings);
  };
  execution.require_ready = [&](const Program& program) {
    if (stored && !options.model.quiet) tell_settings(*stored, options.model, program, false);
    if (!options.model.quiet)
      for (const std::string& folder : loads) warn_of_incomplete(folder);
    check_tokens(options, read, prepared.facts.vocabulary);
    size_t longest = 0;
    for (Prompt& prompt : read) {
      longest = std::max(longest, prompt.tokens.size());
      prepared.beginnings.prompts.push_back(std::move(prompt.tokens));
    }
    prepared.generation =
        generation_options(options, static_cast<int64_t>(longest), prepared.facts.positions);
    if (!options.file.empty()) require_writable(options.file);
    if (!options.checkpoint && options.loads.empty() && !options.model.quiet)
      std::cerr << fmt::format(
          "mtfc: warning: there is no --checkpoint, so the weights have their initial values for --seed {}\n",
          options.seed);
  };
  execution.open = [&](const Program& program, const std::string&) {
    open_files(program, options, loads, prepared);
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
    .summary = "continue a prompt or translate: draw tokens, or search for the likeliest ones",
    .description =
        "Continues prompts with a trained language model, or translates. The model says under its key "
        "`decode` how a token is made; all bundled Transformers do. The same seed gives the same tokens "
        "with every layout.",
    .examples =
        "  mtfc generate char_lm.json --checkpoint ck --prompt \"The \" --length 100 --temperature 0.8 "
        "--top-k 40\n"
        "  mtfc generate char_lm.json --checkpoint ck --prompt-file start.txt --greedy --stop .\n"
        "  mtfc generate transformer_lm.json --load weights.safetensors --prompt-tokens 17,204,9 --beams 4 "
        "\\\n"
        "      --length-penalty 0.6 --length 20\n"
        "  mtfc generate transformer_encdec.json --checkpoint ck --input sources=test.npy --beams 4 "
        "--stop-tokens 1 \\\n"
        "      --length-penalty 0.6 -o translations.json\n"
        "  mtfc generate char_lm.json --checkpoint ck --prompt \"A\" --samples 8 -o samples.txt \\\n"
        "      --mesh rows:2,cols:2 --layout batch:rows,heads:cols",
    .setup = setup,
};

}  // namespace mtfc
