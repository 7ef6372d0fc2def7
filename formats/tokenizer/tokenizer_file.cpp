#include "formats/tokenizer/tokenizer_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>

#include "core/diagnostics/error.h"
#include "core/tensors/random_bits.h"
#include "formats/json/mapped_file.h"

namespace mtfc {
namespace {

std::shared_ptr<const MappedFile> opened(const std::string& file) {
  try {
    return MappedFile::open(file);
  } catch (const UnreadableFile& error) {
    throw UserError(fmt::format("cannot read the tokenizer '{}': {}", file, error.reason), error.hint);
  }
}

}  // namespace

std::string tokenizer_file(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return path;
  const std::filesystem::path json = std::filesystem::path(path) / "tokenizer.json";
  const std::filesystem::path model = std::filesystem::path(path) / "tokenizer.model";
  const bool is_model = !std::filesystem::exists(json, ignored) && std::filesystem::exists(model, ignored);
  return (is_model ? model : json).string();
}

NamedTokenizer read_tokenizer_file(const std::string& path) {
  const std::string file = tokenizer_file(path);
  const std::shared_ptr<const MappedFile> mapped = opened(file);
  const std::string_view text(reinterpret_cast<const char*>(mapped->bytes().data()), mapped->bytes().size());
  return {std::make_shared<const Tokenizer>(Tokenizer::from_file(text, file)), file, hash_bytes(text)};
}

}  // namespace mtfc
