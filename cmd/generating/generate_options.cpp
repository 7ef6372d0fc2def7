#include "cmd/generating/generate_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "cmd/files/family_files.h"
#include "cmd/files/files.h"
#include "cmd/options/command_line.h"
#include "cmd/options/model_options.h"
#include "cmd/options/option_checks.h"
#include "core/diagnostics/error.h"

namespace mtfc {
namespace {

constexpr int64_t kMostSequences = 65536;
constexpr int64_t kMostBeams = 1024;

void require_range(const Tokens& tokens, int64_t vocabulary, const std::string& what) {
  for (const int64_t token : tokens)
    if (token >= vocabulary)
      throw UserError(fmt::format("{} has the token {}, but the model's vocabulary has only {}: 0 to {}",
                                  what, token, vocabulary, vocabulary - 1));
}

void add_prompt_options(CommandLine& line, GenerateOptions& options) {
  line.set_group(OptionGroup::kPrompts);
  line.add_option("--prompt TEXT", options.prompts,
                  "a text to continue, for a model with a tokenizer or whose tokens are bytes (repeatable)");
  line.add_option("--prompt-file FILE", options.prompt_files,
                  "a file with a text to continue, or - for standard input (repeatable)");
  line.add_option("--prompt-tokens ID,ID,...", options.prompt_tokens,
                  "token ids to continue; the result is printed as ids (repeatable)");
  line.add_option(
      "--tokenizer FILE|FOLDER", options.tokenizer_path,
      "the tokenizer.json or tokenizer.model of texts (default: that in the folder of a published model)");
  line.add_flag("--one-by-one", options.one_by_one,
                "read prompts token by token, even where the model can read them at once");
}

void add_source_options(CommandLine& line, SourceOptions& options) {
  line.set_group(OptionGroup::kPrompts);
  line.add_option(
      "--input NAME=SPEC", options.inputs,
      "data that the model reads before it generates, such as sentences to translate, a row for each "
      "sequence: NAME=FILE.npy[,rows=A:B], or another source of `mtfc run` (repeatable)");
  line.add_option("--source-tokens ID,ID,...", options.source_tokens,
                  "token ids to translate; zeros follow up to the length of the input (repeatable)");
  line.add_option("--source TEXT", options.source_texts,
                  "a text to translate, for a model whose tokens are bytes (repeatable)");
}

void add_choice_options(CommandLine& line, GenerateOptions& options) {
  line.set_group(OptionGroup::kChoice);
  line.add_option("--length N", options.length,
                  "number of tokens to generate (default: up to the model's length)")
      .check(whole_number(1));
  line.add_option("--stop TEXT", options.stop, "end a sequence after this text");
  line.add_option("--stop-tokens ID,ID,...", options.stop_tokens, "end a sequence after these tokens");
  line.add_flag("--greedy", options.greedy, "always choose the likeliest token");
  line.add_option("--temperature T", options.temperature,
                  "divide logits by T before a token is drawn: below 1 favours likely tokens, above 1 "
                  "unlikely ones (default: 1)")
      .check(positive_number());
  line.add_option("--top-k K", options.top_k, "draw from the K likeliest tokens only").check(whole_number(1));
  line.add_option("--samples N", options.samples,
                  "number of results per prompt; with --beams, the N best ones")
      .check(whole_number(1, kMostSequences))
      .show_default();
  line.add_option("--beams B", options.beams, "beam search: keep the B likeliest beginnings")
      .check(whole_number(1, kMostBeams));
  line.add_option("--length-penalty A", options.length_penalty,
                  "for beam search: rank results by log p / ((5 + tokens) / 6)^A (default: 0)")
      .check(number_not_negative());
  line.add_option("--seed", options.seed, "seed of the tokens that are drawn, and of initial weights")
      .check(whole_number(0))
      .show_default();
}

// Standard input can be read only once.
void check_standard_input(const GenerateOptions& options) {
  std::vector<std::string> takers;
  if (options.model.model == "-") takers.emplace_back("the model");
  if (options.layout.layout == "-") takers.emplace_back("the layout");
  for (const std::string& file : options.prompt_files)
    if (file == "-")
      takers.emplace_back(takers.empty() || takers.back() != "a prompt" ? "a prompt" : "another prompt");
  if (takers.size() > 1)
    throw UserError(fmt::format("{} and {} can't both be read from standard input", takers[0], takers[1]));
}

}  // namespace

void add_generate_options(CommandLine& line, GenerateOptions& options) {
  add_prompt_options(line, options);
  add_source_options(line, options);
  add_choice_options(line, options);
  line.set_group(OptionGroup::kData);
  line.add_option("--checkpoint DIR|FILE", options.checkpoint,
                  "read the weights from a folder of checkpoints (the last one), one checkpoint, or a "
                  ".safetensors file");
  line.add_option(
      "--load FILE", options.loads,
      "read weights as with --checkpoint, or the values of one variable with NAME=FILE.npy (repeatable)");
  line.add_option("--map FROM=TO", options.maps,
                  "rename the tensors of a loaded file to the model's names; * matches any characters but . "
                  "and /, and an empty TO leaves a tensor out; a FILE may hold such patterns, one per line");
  line.add_option("--weights FORMAT", options.weights_named,
                  "store weights in fewer bits, which are read faster: bf16, or int8 with a scale for each "
                  "row (default: f32)")
      .check(one_of(enum_names<WeightFormat>()));
  line.set_group(OptionGroup::kOutput);
  line.add_option("--format FORMAT", options.format,
                  "text (default) or json, with ids and scores (default for FILE.json)")
      .check(one_of({"text", "json"}));
  line.add_option("-o FILE", options.file, "write the results to this file when all are complete");
}

void take_tokenizer(GenerateOptions& options) {
  options.usual_tokenizer = options.tokenizer_path.value_or(tokenizer_of_model(options.model.model));
  if ((options.as_text() || options.stop) && !options.usual_tokenizer.empty())
    options.tokenizer = read_tokenizer(options.usual_tokenizer);
}

void check(const GenerateOptions& options) {
  if (options.tokenizer_path && !options.as_text() && !options.stop && options.inputs.empty())
    throw UserError("--tokenizer is for texts, and none is given", "give --prompt, or leave it out");
  check(static_cast<const SourceOptions&>(options));
  const bool ids = !options.prompt_tokens.empty() || !options.source_tokens.empty();
  if (options.has_texts() && !options.prompt_tokens.empty())
    throw UserError("--prompt-tokens can't be mixed with prompts of text", "give one kind");
  if (options.as_text() && ids)
    throw UserError("the prompt and the source must both be texts, or both be ids",
                    "give --prompt with --source, or --prompt-tokens with --source-tokens");
  if (options.stop && options.stop_tokens) throw UserError("--stop and --stop-tokens exclude each other");
  const size_t beginnings = std::max(options.prompt_count(), options.source_count());
  if (static_cast<int64_t>(beginnings) > kMostSequences / options.samples)
    throw UserError(fmt::format("{} {} with {} samples each are more than {} sequences", beginnings,
                                options.source_count() > 0 ? "sources" : "prompts", options.samples,
                                kMostSequences));
  const char* drawn = options.temperature ? "--temperature" : options.top_k ? "--top-k" : nullptr;
  if (options.greedy && drawn)
    throw UserError(fmt::format("{} is for drawing tokens, but --greedy draws none", drawn),
                    "leave out one of them");
  if (options.beams && (drawn || options.greedy))
    throw UserError(fmt::format("--beams can't be combined with {}", drawn ? drawn : "--greedy"),
                    "beam search draws no tokens, and looks at more than the likeliest one");
  if (options.greedy && options.samples > 1)
    throw UserError("--samples with --greedy would return one result several times", "leave out one of them");
  if (options.length_penalty && !options.beams)
    throw UserError("--length-penalty is for beam search", "give --beams B");
  if (options.beams && options.samples > *options.beams)
    throw UserError(fmt::format("--samples {} is more than the {} beams", options.samples, *options.beams));
  if (options.weights() != WeightFormat::kF32 && options.model.dtype &&
      *options.model.dtype != to_string(DType::kF32))
    throw UserError(fmt::format("--weights {} is for models that compute in f32, but --dtype says {}",
                                options.weights_named, *options.model.dtype),
                    "leave out one of them");
  const char* training = options.model.optimizer      ? "--optimizer"
                         : options.model.microbatches ? "--microbatches"
                                                      : nullptr;
  if (training)
    throw UserError(fmt::format("{} is for training, but generate does not train", training), "leave it out");
  if (!options.maps.empty() && !options.checkpoint && options.loads.empty())
    throw UserError("--map renames the tensors of --checkpoint or --load, and neither is given");
  check_standard_input(options);
}

std::vector<Prompt> read_prompts(const GenerateOptions& options) {
  std::vector<Prompt> prompts;
  for (const std::string& text : options.prompts)
    prompts.push_back({"--prompt", tokens_to_continue(text, options.tokenizer.get())});
  for (const std::string& file : options.prompt_files)
    prompts.push_back({fmt::format("the prompt '{}'", file),
                       tokens_to_continue(read_text(file, "prompt"), options.tokenizer.get())});
  for (const std::string& ids : options.prompt_tokens)
    prompts.push_back({"--prompt-tokens", parse_tokens(ids, "--prompt-tokens")});
  for (const Prompt& prompt : prompts)
    if (prompt.tokens.empty())
      throw UserError(fmt::format("{} is empty", prompt.name), "the model continues from at least one token");
  if (prompts.empty() && options.has_sources()) prompts.push_back({"the first token", {0}});
  return prompts;
}

void check_tokens(const GenerateOptions& options, const std::vector<Prompt>& prompts, int64_t vocabulary) {
  if ((options.as_text() || options.stop) && !options.tokenizer && vocabulary != 256)
    throw UserError(
        fmt::format("the model's vocabulary has {} tokens, so they can't be the bytes of a text", vocabulary),
        !options.source_texts.empty() ? "give its --tokenizer, or ids: --source-tokens 1,2,3"
        : options.has_texts()         ? "give its --tokenizer, or ids: --prompt-tokens 1,2,3"
                                      : "give its --tokenizer, or ids: --stop-tokens 1,2,3");
  for (const Prompt& prompt : prompts) require_range(prompt.tokens, vocabulary, prompt.name);
  if (options.stop_tokens)
    require_range(parse_tokens(*options.stop_tokens, "--stop-tokens"), vocabulary, "--stop-tokens");
}

GenerationOptions generation_options(const GenerateOptions& options, int64_t longest, int64_t positions) {
  GenerationOptions found;
  found.sampling = {options.greedy, options.temperature.value_or(1), options.top_k.value_or(0)};
  found.samples = options.samples;
  found.beams = options.beams.value_or(0);
  found.alpha = options.length_penalty.value_or(0);
  found.seed = options.seed;
  if (options.stop) found.stop = tokens_of(*options.stop, options.tokenizer.get());
  if (options.stop_tokens) found.stop = parse_tokens(*options.stop_tokens, "--stop-tokens");
  if (positions == std::numeric_limits<int64_t>::max() && !options.length)
    throw UserError("nothing ends the sequence: the model's caches have no length", "give --length N");
  if (options.prompt_count() == 0) {
    // The last token needs no position, since nothing follows it.
    found.length = options.length.value_or(positions);
    if (found.length > positions)
      throw UserError(
          fmt::format("--length {} is too long: the model's length is {}", found.length, positions));
    return found;
  }
  if (longest >= positions)
    throw UserError(fmt::format("the prompt has {} tokens, but the model's length is {}", longest, positions),
                    "shorten the prompt: at least one token must fit after it");
  found.length = options.length.value_or(positions - longest);
  if (found.length > positions - longest)
    throw UserError(fmt::format("a prompt of {} tokens and --length {} make {}, but the model's length is {}",
                                longest, found.length, longest + found.length, positions),
                    fmt::format("--length can be {} at most", positions - longest));
  return found;
}

}  // namespace mtfc
