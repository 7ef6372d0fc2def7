#pragma once
// Prints what `mtfc generate` has made: a single sequence as its tokens are chosen, several at the end.

#include <string>
#include <vector>

#include "cmd/generating/generate_options.h"
#include "cmd/generating/generation.h"

namespace mtfc {

/// "text" or "json": what the user has chosen, or what the file's name stands for; otherwise text. Throws UserError for
/// a name that stands for something else.
std::string result_format(const GenerateOptions& options);

class ResultPrinter {
 public:
  /// `is_alone`: there is one sequence in all. A prompt that was not given, as in translation, is not printed.
  ResultPrinter(const GenerateOptions& options, const std::vector<Tokens>& prompts, bool is_alone);

  void begin();
  /// Prints a token of the only sequence.
  void add(int64_t token);
  /// Throws RunError if the results can't be written.
  void end(const GenerationResult& result, const std::string& model);

 private:
  void print_text(const Tokens& tokens, bool is_last);
  const Tokens& prompt_of(const Generated& sequence) const;
  std::string plain(const GenerationResult& result) const;
  std::string json(const GenerationResult& result, const std::string& model) const;

  const GenerateOptions& options_;
  std::vector<Tokens> prompts_;
  bool streams_ = false;
  bool begins_ = true;  // nothing has been printed
  Tokens all_;          // the only sequence so far, and as much of its text as has been printed
  std::string printed_;
};

}  // namespace mtfc
