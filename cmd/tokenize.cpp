#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <thread>

#include "cmd/command.h"
#include "cmd/files/files.h"
#include "cmd/generating/prompts.h"
#include "cmd/launch/launch.h"
#include "cmd/options/command_line.h"
#include "cmd/options/file_endings.h"
#include "cmd/options/option_checks.h"
#include "cmd/options/text_output.h"
#include "cmd/terminal/work_watch.h"
#include "core/diagnostics/error.h"
#include "core/diagnostics/progress.h"
#include "formats/json/mapped_file.h"
#include "formats/text/quantity.h"
#include "formats/tokenizer/parallel_tokens.h"
#include "formats/tokenizer/tokenizer.h"

namespace mtfc {
namespace {

struct TokenizeOptions {
  std::vector<std::string> files;
  std::string tokenizer;
  std::optional<std::string> text, ids;
  bool special = false;
  std::optional<std::string> end;
  int64_t threads = 0;
  std::string file = "-";
  bool quiet = false;
};

void check_sources(const TokenizeOptions& options) {
  if (options.ids && (options.text || !options.files.empty() || options.special || options.end))
    throw UserError("--decode excludes texts, --special and --end", "it makes a text of ids");
  if (options.text && !options.files.empty()) throw UserError("--text excludes files", "leave out either");
}

// The bytes of an id in a file of tokens; 0: the ids are written as text. A name without an ending means two, as it
// does for runs that read the file.
int token_width(const TokenizeOptions& options) {
  const FileKinds kinds{"-o", "a list of tokens", {{"u16", "2"}, {"u32", "4"}, {"txt", "0"}}};
  const std::string format = format_of_file(kinds, options.file);
  if (!format.empty()) return std::stoi(format);
  return options.file == "-" ? 0 : 2;
}

// Vocabularies of more than 65,536 tokens take four bytes a token.
void check_width(const Tokenizer& tokenizer, int width, const std::string& file) {
  constexpr int32_t kMost = 1 << 16;
  if (width != 2 || tokenizer.size() <= kMost) return;
  const std::string other = std::filesystem::path(file).replace_extension(".u32").string();
  throw UserError(fmt::format("-o: the tokenizer has ids up to {}, and two bytes hold ids up to {}",
                              grouped(tokenizer.size() - 1), grouped(kMost - 1)),
                  fmt::format("write them as -o {}", other));
}

int32_t end_id(const Tokenizer& tokenizer, const std::string& token) {
  const auto id = tokenizer.id(token);
  if (!id) throw UserError(fmt::format("--end: the tokenizer has no token '{}'", token));
  return *id;
}

void append_ids(std::string& bytes, const std::vector<int32_t>& ids, int width) {
  const size_t before = bytes.size(), size = static_cast<size_t>(width);
  bytes.resize(before + size * ids.size());
  char* out = bytes.data() + before;
  for (const int32_t id : ids)
    for (size_t i = 0; i < size; ++i) *out++ = static_cast<char>(static_cast<uint32_t>(id) >> 8 * i & 0xFF);
}

// The texts of a command, which live as long as this.
struct Texts {
  std::vector<std::shared_ptr<const MappedFile>> files;
  std::vector<std::string> owned;
  std::vector<std::string_view> views;
  size_t bytes = 0;
};

Texts read_texts(const TokenizeOptions& options) {
  Texts texts;
  texts.owned.reserve(options.files.size() + 1);
  const auto add = [&](std::string text) {
    texts.views.emplace_back(texts.owned.emplace_back(std::move(text)));
  };
  if (options.text) add(*options.text);
  for (const std::string& path : options.files) {
    if (path == "-") {
      add(read_text(path, "text"));
      continue;
    }
    const auto bytes = texts.files.emplace_back(MappedFile::open(path))->bytes();
    texts.views.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  for (const std::string_view text : texts.views) texts.bytes += text.size();
  return texts;
}

// Writes the ids of all texts, and returns how many there are.
int64_t write_ids(const TokenizeOptions& options, const Tokenizer& tokenizer, const Texts& texts) {
  const int width = token_width(options);
  check_width(tokenizer, width, options.file);
  const auto end = options.end ? std::optional(end_id(tokenizer, *options.end)) : std::nullopt;
  TokenizingSettings settings;
  settings.special = options.special ? SpecialTokens::kAround : SpecialTokens::kNone;
  settings.threads =
      options.threads > 0 ? static_cast<size_t>(options.threads) : std::thread::hardware_concurrency();
  int64_t count = 0, bytes = 0;
  write_pieces(options.file, [&](const TextSink& sink) {
    bool begins_line = true;
    tokenize_texts(tokenizer, texts.views, settings, [&](const TokenBlock& block) {
      std::vector<int32_t> ids = block.ids;
      if (block.ends_text && end) ids.push_back(*end);
      count += static_cast<int64_t>(ids.size());
      std::string piece;
      if (width > 0) {
        append_ids(piece, ids, width);
      } else {
        piece = fmt::format("{}{}{}", begins_line || ids.empty() ? "" : ",", fmt::join(ids, ","),
                            block.ends_text ? "\n" : "");
        begins_line = block.ends_text || (begins_line && ids.empty());
      }
      sink(piece);
      bytes += static_cast<int64_t>(block.bytes);
      tell_progress({"tokenizing", bytes >> 20, static_cast<int64_t>(texts.bytes >> 20), "MiB"});
    });
  });
  return count;
}

void tell_summary(int64_t count, const Texts& texts, double seconds, const std::string& file) {
  WorkWatch::make_way();
  const auto bytes = static_cast<double>(texts.bytes);
  std::cerr << fmt::format("{} tokens of {} bytes, {:.3g} bytes per token, in {:.1f} s ({:.3g} MB/s): {}\n",
                           grouped(count), grouped(static_cast<int64_t>(texts.bytes)),
                           count > 0 ? bytes / static_cast<double>(count) : 0, seconds, bytes / seconds / 1e6,
                           file);
}

void write_decoded(const TokenizeOptions& options, const Tokenizer& tokenizer) {
  std::vector<int32_t> ids;
  for (const int64_t id : parse_tokens(*options.ids, "--decode")) {
    if (id >= tokenizer.size())
      throw UserError(fmt::format("--decode: there is no token with the id {}", id),
                      fmt::format("ids are below {}", tokenizer.size()));
    ids.push_back(static_cast<int32_t>(id));
  }
  write_text(options.file, tokenizer.decode(ids) + (options.file == "-" ? "\n" : ""));
}

int run(TokenizeOptions options) {
  check_sources(options);
  if (!options.text && !options.ids && options.files.empty()) options.files = {"-"};
  const WorkWatch watch(std::cerr, status_place(options.quiet));
  const std::shared_ptr<const Tokenizer> read = read_tokenizer(options.tokenizer);
  const Tokenizer& tokenizer = *read;
  require_writable(options.file);
  require_unread(options.file, options.files);
  if (options.ids) {
    write_decoded(options, tokenizer);
    return kExitSuccess;
  }
  token_width(options);  // is known to be right before anything is read
  const Texts texts = read_texts(options);
  const auto start = std::chrono::steady_clock::now();
  const int64_t count = write_ids(options, tokenizer, texts);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (!options.quiet && options.file != "-") tell_summary(count, texts, seconds.count(), options.file);
  return kExitSuccess;
}

std::function<int()> setup(CommandLine& line) {
  auto options = std::make_shared<TokenizeOptions>();
  line.add_option("FILE", options->files, "texts, or - for standard input, which is the default");
  line.add_option("--tokenizer FILE|DIR", options->tokenizer,
                  "the tokenizer.json or tokenizer.model of a published model, or the folder that holds it")
      .required();
  line.set_group(OptionGroup::kData);
  line.add_option("--text TEXT", options->text, "the text to tokenize, in place of files");
  line.add_option("--decode IDS", options->ids, "print the text of these ids, as in 12,7,300");
  line.add_flag(
      "--special", options->special,
      "put the special tokens around each text that the tokenizer states, such as one at its beginning");
  line.add_option(
      "--end TOKEN", options->end,
      "put this token after each text, as in '<|endoftext|>', so that training sees where texts end");
  line.set_group(OptionGroup::kLimits);
  line.add_option("--threads N", options->threads, "threads that tokenize; by default, one for each core")
      .check(whole_number(1));
  line.set_group(OptionGroup::kOutput);
  line.add_option(
          "-o FILE", options->file,
          "output file: .u16 or .u32 for ids of two or four bytes, as runs read them with tokens:FILE, or "
          ".txt for digits; - is standard output")
      .show_default();
  line.add_flag("--quiet,-q", options->quiet, "print neither progress nor a summary");
  return [options] { return run(*options); };
}

}  // namespace

const Command kTokenizeCommand = {
    .name = "tokenize",
    .summary = "make tokens of texts with the tokenizer of a published model",
    .description =
        "Reads the tokenizer.json or tokenizer.model of a published model and writes the ids of the tokens "
        "of "
        "texts, one text after "
        "another, in a file that run reads with tokens:FILE. All cores work on long texts, with the same "
        "result as "
        "one. The file appears when it is complete. Without -o, the ids are printed, a line for each text. "
        "Bytes "
        "that are not UTF-8 count as U+FFFD. Special tokens in a text, such as <|endoftext|>, become their "
        "ids by a tokenizer.json, not by a tokenizer.model. "
        "Anything in tokenizer.json that mtfc does not understand is an error.",
    .examples =
        "  mtfc tokenize book.txt --tokenizer Llama-3.1-8B -o book.u32\n"
        "  mtfc tokenize a.txt b.txt --tokenizer gpt2/tokenizer.json --end '<|endoftext|>' -o train.u16\n"
        "  mtfc tokenize --tokenizer gpt2 --text 'Hello world'\n"
        "  mtfc tokenize --tokenizer gpt2 --decode 15496,995",
    .setup = setup,
};

}  // namespace mtfc
