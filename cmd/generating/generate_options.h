#pragma once
// The options of `mtfc generate`.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/generating/generation.h"
#include "cmd/generating/prompts.h"
#include "cmd/generating/sources.h"
#include "cmd/launch/execution.h"
#include "core/model/model.h"

namespace mtfc {

struct PromptOptions {
  std::vector<std::string> prompts;        // texts
  std::vector<std::string> prompt_files;   // with texts
  std::vector<std::string> prompt_tokens;  // lists of ids
  std::optional<std::string> tokenizer_path;

  size_t prompt_count() const { return prompts.size() + prompt_files.size() + prompt_tokens.size(); }
  bool has_texts() const { return !prompts.empty() || !prompt_files.empty(); }
};

/// The options that say how tokens are chosen. The program decides those that are absent.
struct TokenChoiceOptions {
  bool greedy = false;
  std::optional<double> temperature;
  std::optional<int64_t> top_k;
  std::optional<int64_t> beams;
  std::optional<double> length_penalty;
  int64_t samples = 1;
  uint64_t seed = 0;
};

struct GenerateOptions : ExecutionOptions, PromptOptions, SourceOptions, TokenChoiceOptions {
  std::optional<int64_t> length;           // absent: as long as the model can
  std::optional<std::string> stop;         // text
  std::optional<std::string> stop_tokens;  // ids
  std::vector<std::string> loads;          // as in run; --checkpoint adds one
  std::optional<std::string> checkpoint;
  std::vector<std::string> maps;
  std::string weights_named = "f32";  // the name of a WeightFormat
  bool one_by_one = false;            // prompts are read token by token
  std::string file;                   // "": standard output, as tokens are chosen
  std::string format;                 // text or json; "": as the file's name says

  WeightFormat weights() const { return *value_named<WeightFormat>(weights_named); }
  /// True if the tokens of the result are printed as a text.
  bool as_text() const { return has_texts() || !source_texts.empty(); }
};

void add_generate_options(CommandLine& line, GenerateOptions& options);

/// Reads the tokenizer if texts need one: that of --tokenizer, or of the folder of a published model. Throws UserError.
void take_tokenizer(GenerateOptions& options);

/// Throws UserError for options that contradict each other, or if one would be ignored.
void check(const GenerateOptions& options);

/// A prompt, and what errors call it.
struct Prompt {
  std::string name;
  Tokens tokens;
};
/// Every prompt, in the order of the options. A model that translates has one without being given any: the token 0.
/// Throws UserError for a file that can't be read and for an empty prompt.
std::vector<Prompt> read_prompts(const GenerateOptions& options);
/// Throws UserError for tokens outside a vocabulary of `vocabulary` tokens, of prompts or of other options.
void check_tokens(const GenerateOptions& options, const std::vector<Prompt>& prompts, int64_t vocabulary);

/// The options for prompts of at most `longest` tokens and a model of `positions` positions. Throws UserError
/// if that is too long.
GenerationOptions generation_options(const GenerateOptions& options, int64_t longest, int64_t positions);

}  // namespace mtfc
