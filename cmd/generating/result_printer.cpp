#include "cmd/generating/result_printer.h"

#include <fmt/format.h>

#include <iostream>

#include "cmd/files/files.h"
#include "cmd/options/file_endings.h"
#include "cmd/terminal/standard_output.h"
#include "formats/report/generation_writer.h"

namespace mtfc {
namespace {

void print(const std::string& text) {
  std::cout << text;
  flush_standard_output();
}

Tokens joined(const Tokens& prompt, const Tokens& tokens) {
  Tokens all = prompt;
  all.insert(all.end(), tokens.begin(), tokens.end());
  return all;
}

}  // namespace

std::string result_format(const GenerateOptions& options) {
  const FileKinds kinds{"-o", "generated text", {{"txt", "text"}, {"json", "json"}}};
  const std::string of_file = options.file.empty() ? "" : format_of_file(kinds, options.file, options.format);
  return !options.format.empty() ? options.format : of_file.empty() ? "text" : of_file;
}

ResultPrinter::ResultPrinter(const GenerateOptions& options, const std::vector<Tokens>& prompts,
                             bool is_alone)
    : options_(options),
      prompts_(options.prompt_count() > 0 ? prompts : std::vector<Tokens>(1)),
      streams_(is_alone && options.file.empty() && !options.beams && result_format(options) == "text") {}

void ResultPrinter::begin() {
  if (!streams_) return;
  print(text_of(prompts_[0], options_.as_bytes()));
  begins_ = prompts_[0].empty();
}

void ResultPrinter::add(int64_t token) {
  if (!streams_) return;
  print((options_.as_bytes() || begins_ ? "" : ",") + text_of({token}, options_.as_bytes()));
  begins_ = false;
}

void ResultPrinter::end(const GenerationResult& result, const std::string& model) {
  if (streams_) return print("\n");
  const std::string text = result_format(options_) == "json" ? json(result, model) : plain(result);
  if (options_.file.empty())
    print(text);
  else
    write_text(options_.file, text);
}

const Tokens& ResultPrinter::prompt_of(const Generated& sequence) const {
  return prompts_[prompts_.size() == 1 ? 0 : sequence.beginning];
}

std::string ResultPrinter::plain(const GenerationResult& result) const {
  std::string text;
  for (size_t i = 0; i < result.sequences.size(); ++i) {
    const Generated& sequence = result.sequences[i];
    if (result.sequences.size() > 1)
      text += fmt::format("--- {} of {}{} ---\n", i + 1, result.sequences.size(),
                          sequence.score ? fmt::format(", score {:.6g}", *sequence.score) : "");
    text += text_of(joined(prompt_of(sequence), sequence.tokens), options_.as_bytes()) + "\n";
  }
  return text;
}

std::string ResultPrinter::json(const GenerationResult& result, const std::string& model) const {
  std::vector<GeneratedSequence> sequences;
  for (const Generated& sequence : result.sequences) {
    const Tokens& prompt = prompt_of(sequence);
    sequences.push_back(
        {static_cast<int64_t>(sequence.beginning), prompt, sequence.tokens, {}, sequence.score});
    if (options_.as_bytes()) sequences.back().text = text_of(joined(prompt, sequence.tokens), true);
  }
  return generation_json(model, sequences);
}

}  // namespace mtfc
