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

// The bytes of a character may be those of several tokens: a text that ends in a replacement character waits.
void ResultPrinter::print_text(const Tokens& tokens, bool is_last) {
  all_.insert(all_.end(), tokens.begin(), tokens.end());
  const std::string text = text_of(all_, options_.tokenizer.get());
  if (!is_last && options_.tokenizer && text.ends_with("\xEF\xBF\xBD")) return;
  if (!text.starts_with(printed_)) return;
  print(text.substr(printed_.size()));
  printed_ = text;
}

void ResultPrinter::begin() {
  if (!streams_) return;
  if (options_.as_text()) return print_text(prompts_[0], false);
  print(ids_of(prompts_[0]));
  begins_ = prompts_[0].empty();
}

void ResultPrinter::add(int64_t token) {
  if (!streams_) return;
  if (options_.as_text()) return print_text({token}, false);
  print((begins_ ? "" : ",") + ids_of({token}));
  begins_ = false;
}

void ResultPrinter::end(const GenerationResult& result, const std::string& model) {
  if (streams_ && options_.as_text()) print_text({}, true);
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
    const Tokens tokens = joined(prompt_of(sequence), sequence.tokens);
    text += (options_.as_text() ? text_of(tokens, options_.tokenizer.get()) : ids_of(tokens)) + "\n";
  }
  return text;
}

std::string ResultPrinter::json(const GenerationResult& result, const std::string& model) const {
  std::vector<GeneratedSequence> sequences;
  for (const Generated& sequence : result.sequences) {
    const Tokens& prompt = prompt_of(sequence);
    sequences.push_back(
        {static_cast<int64_t>(sequence.beginning), prompt, sequence.tokens, {}, sequence.score});
    if (options_.as_text())
      sequences.back().text = text_of(joined(prompt, sequence.tokens), options_.tokenizer.get());
  }
  return generation_json(model, sequences);
}

}  // namespace mtfc
