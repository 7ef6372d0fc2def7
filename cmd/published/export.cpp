#include "cmd/published/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "cmd/files/family_files.h"
#include "cmd/files/files.h"
#include "cmd/options/command_line.h"
#include "cmd/options/memory_limit.h"
#include "cmd/options/option_checks.h"
#include "cmd/published/gguf_export.h"
#include "core/diagnostics/error.h"
#include "formats/data/safetensors.h"
#include "formats/json/ordered_json.h"
#include "formats/model/model_reader.h"
#include "formats/text/quantity.h"
#include "runtime/data/new_folder.h"

namespace mtfc {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFileEnding = ".gguf";

// The names that config.json and files of safetensors have for the types.
struct NamedType {
  ExportType type;
  const char* config;
  StoredType stored;
};
constexpr NamedType kNamedTypes[] = {{ExportType::kF32, "float32", StoredType::kF32},
                                     {ExportType::kF16, "float16", StoredType::kF16},
                                     {ExportType::kBF16, "bfloat16", StoredType::kBF16},
                                     {ExportType::kF64, "float64", StoredType::kF64}};

const NamedType& named_type(ExportType type) {
  return *std::find_if(std::begin(kNamedTypes), std::end(kNamedTypes),
                       [&](const NamedType& known) { return known.type == type; });
}

// The type that the user wants, or that the model's config.json states, or f32.
ExportType export_type(const ExportOptions& options, const ConfigSource& source) {
  if (!options.dtype.empty()) return *value_named<ExportType>(options.dtype);
  const std::string stated = stated_dtype(source.text, source.file);
  for (const NamedType& known : kNamedTypes)
    if (stated == known.config) return known.type;
  return ExportType::kF32;
}

// The files of a published model beside its config.json and its weights.
constexpr const char* kCopied[] = {"tokenizer.json",
                                   "tokenizer.model",
                                   "tokenizer_config.json",
                                   "special_tokens_map.json",
                                   "added_tokens.json",
                                   "vocab.json",
                                   "vocab.txt",
                                   "merges.txt",
                                   "generation_config.json",
                                   "chat_template.jinja",
                                   "preprocessor_config.json"};

// The folder with the tokenizer and such files; "" if there is none.
std::string companion_folder(const ExportOptions& options, const ExportedModel& model) {
  if (options.tokenizer.empty()) return published_folder(model.given);
  std::error_code ignored;
  if (fs::is_directory(options.tokenizer, ignored)) return options.tokenizer;
  const std::string folder = fs::path(options.tokenizer).parent_path().string();
  return folder.empty() ? "." : folder;
}

// Cuts the tensors into files of at most `most` bytes, in their order.
std::vector<std::vector<PublishedTensor>> cut_into_shards(const std::vector<PublishedTensor>& tensors,
                                                          ExportType type, int64_t most) {
  std::vector<std::vector<PublishedTensor>> shards(1);
  int64_t bytes = 0;
  for (const PublishedTensor& tensor : tensors) {
    const int64_t own = exported_bytes(type, element_count(tensor.shape));
    if (bytes + own > most && !shards.back().empty()) {
      shards.emplace_back();
      bytes = 0;
    }
    bytes += own;
    shards.back().push_back(tensor);
  }
  return shards;
}

ExportedFile weights_file(const std::vector<PublishedTensor>& tensors, ExportType type) {
  std::vector<TensorPlace> places;
  std::map<std::string, const PublishedTensor*> by_name;
  for (const PublishedTensor& tensor : tensors) {
    places.push_back({tensor.name, named_type(type).stored, tensor.shape});
    by_name[tensor.name] = &tensor;
  }
  SafetensorsPlan plan = plan_safetensors(std::move(places), {{"format", "pt"}});
  ExportedFile file{"", std::move(plan.header), {}};
  for (const TensorPlace& place : plan.places) file.parts.push_back({*by_name.at(place.name), type});
  return file;
}

void check_folder(const std::string& path) {
  std::error_code ignored;
  if (fs::exists(path, ignored) && !(fs::is_directory(path, ignored) && fs::is_empty(path, ignored)))
    throw UserError(fmt::format("'{}' exists already, and an export is a new folder", path),
                    "name another folder, or remove it");
  require_writable_folder(path);
}

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

}  // namespace

void add_export_options(CommandLine& line, const std::string& flag, ExportOptions& options) {
  line.add_option(flag + " FOLDER|FILE.gguf", options.target,
                  "write the model as published ones come: a new folder with config.json, the weights under "
                  "their published names and the tokenizer; or a file for llama.cpp");
  line.add_option("--export-dtype", options.dtype,
                  "the type of exported weights (default: that of the model's config.json, or f32)")
      .check(one_of({"f32", "f16", "bf16", "f64", "q8_0"}));
  line.add_option("--shard-size BYTES", options.shard_bytes,
                  "begin a new file of exported weights before one has more bytes, as in 5GB or 512MiB")
      .transform(read_bytes)
      .show_default();
}

void check(const ExportOptions& options, const std::string& flag) {
  if (options.target.empty()) {
    if (!options.dtype.empty())
      throw UserError(fmt::format("--export-dtype needs {}", flag),
                      fmt::format("name a folder with {} FOLDER", flag));
    return;
  }
  if (options.target == "-")
    throw UserError(fmt::format("{} writes a folder, not to standard output", flag),
                    fmt::format("name a folder, as in {} my-model", flag));
  // Other dots are parts of names, as in Llama-3.2-1B.
  const std::string ending = fs::path(options.target).extension().string();
  for (const char* of_files : {".safetensors", ".bin", ".pt", ".pth", ".onnx", ".npz", ".json"})
    if (ending == of_files)
      throw UserError(
          fmt::format("{}: '{}' ends in {}, but an export is a folder, or a file that ends in .gguf", flag,
                      options.target, ending),
          "name a folder");
}

ExportedModel exported_model(const Sources& sources, const ModelOptions& options, const Model& model) {
  ExportedModel exported;
  exported.given = options.model;
  exported.form = model.published;
  for (const VariableDecl& variable : model.variables)
    if (!variable.optimizer_state && !variable.is_scale) exported.variables.push_back(variable);
  const auto values_of = [](const Model& read) {
    ModelValues values(read.params.begin(), read.params.end());
    for (const Dim& dim : read.dims) values[dim.name] = static_cast<double>(dim.size);
    return values;
  };
  std::set<std::string> sizes;
  for (const VariableDecl& variable : exported.variables)
    for (const Dim& dim : variable.type.dims) sizes.insert(dim.name);
  exported.source = {
      sources.model_text, sources.model_file, values_of(model), std::move(sizes),
      [&sources, values_of](const std::string& text) {
        std::vector<Diagnostic> ignored;
        return values_of(read_model(text, "config.json", {}, ignored,
                                    {[&](const IncludeName& name) { return sources.includes->read(name); }}));
      }};
  return exported;
}

Export::Export(const ExportOptions& options, const ExportedModel& model, const std::vector<std::string>& maps)
    : target_(without_slashes(options.target)) {
  for (const VariableDecl& variable : model.variables) types_.emplace(variable.name, variable.type);
  is_folder_ = !target_.ends_with(kFileEnding);
  if (!is_folder_) {
    require_writable(target_);
    plan_file(options, model);
    return;
  }
  NameMap map(maps);
  map.add_of_model(model.form.rules);
  check_folder(target_);
  plan_folder(options, model, published_tensors(map, model.variables, model.form.merged));
}

void Export::plan_folder(const ExportOptions& options, const ExportedModel& model,
                         const std::vector<PublishedTensor>& tensors) {
  const ExportType type = export_type(options, model.source);
  if (type == ExportType::kQ8)
    throw UserError("--export-dtype: only .gguf files have q8_0", "name a file that ends in .gguf");
  const auto shards = cut_into_shards(tensors, type, options.shard_bytes);
  const NewFolder folder(target_);
  const auto add_text = [&](const std::string& name, std::string text) {
    files_.push_back({folder.file(name), std::move(text), {}});
  };
  int64_t bytes = 0;
  Json places = Json::object();
  for (size_t i = 0; i < shards.size(); ++i) {
    ExportedFile file = weights_file(shards[i], type);
    const std::string name = shards.size() == 1
                                 ? "model.safetensors"
                                 : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
    file.path = folder.file(name);
    bytes += file.bytes();
    for (const PublishedTensor& tensor : shards[i]) places[tensor.name] = name;
    files_.push_back(std::move(file));
  }
  if (shards.size() > 1) {
    Json index = Json::object();
    index["metadata"]["total_size"] = bytes;
    index["weight_map"] = std::move(places);
    add_text("model.safetensors.index.json", dump_lines(index, kAllLevels, 2) + "\n");
  }
  add_text("config.json", config_of(model.source, named_type(type).config, family_files()));
  const std::string companions = companion_folder(options, model);
  for (const char* name : kCopied) {
    const std::string path = companions + "/" + name;
    std::error_code ignored;
    if (!companions.empty() && fs::is_regular_file(path, ignored))
      add_text(name, read_regular_text(path, "file of the tokenizer"));
  }
  summary_ = fmt::format("{} tensors, {} as {}", tensors.size(), bytes_text(bytes), to_string(type));
}

void Export::plan_file(const ExportOptions& options, const ExportedModel& model) {
  const ExportType type = export_type(options, model.source);
  const std::string companions = companion_folder(options, model), tokenizer = companions + "/tokenizer.json";
  std::error_code ignored;
  const bool has_tokenizer = !companions.empty() && fs::is_regular_file(tokenizer, ignored);
  files_.push_back(gguf_file(
      {model.source, model.variables, model.form.merged, has_tokenizer ? tokenizer : ""}, type, target_));
  summary_ = fmt::format("{} tensors, {}, matrices as {}, {}", files_.front().parts.size(),
                         bytes_text(files_.front().bytes()), to_string(type),
                         has_tokenizer ? "with the tokenizer" : "without a tokenizer");
}

void Export::write(const VariableReader& values) const {
  if (!is_folder_) return write_files(files_, types_, values);
  const NewFolder folder(target_);
  const auto fail = [&] {
    throw RunError(fmt::format("cannot write '{}': {}", target_, std::strerror(errno)));
  };
  std::error_code ignored;
  const fs::path parent = fs::path(target_).parent_path();
  if (!parent.empty()) fs::create_directories(parent, ignored);
  if (!folder.begin()) fail();
  try {
    write_files(files_, types_, values);
    if (!folder.complete()) fail();
  } catch (...) {
    folder.remove();
    throw;
  }
}

}  // namespace mtfc
