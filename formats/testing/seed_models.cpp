#include "formats/testing/seed_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "core/graph/op_registry.h"
#include "core/graph/operation_text.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"

namespace mtfc {
namespace {

namespace fs = std::filesystem;

// The JSON files below models/ and testdata/ that contain `word`, or those that don't; none of families/, whose models have
// the sizes of published ones.
std::vector<std::string> files_with(const std::string& word, bool wanted) {
  constexpr size_t kLargest = 20000;
  std::vector<fs::path> paths;
  for (const char* folder : {"models", "testdata"})
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(kSourceFolder) / folder))
      if (entry.path().extension() == ".json" && entry.file_size() < kLargest &&
          entry.path().string().find("/families/") == std::string::npos)
        paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const fs::path& path : paths) {
    std::string text = contents(path);
    if ((text.find(word) != std::string::npos) == wanted) texts.push_back(std::move(text));
  }
  return texts;
}

std::string quoted(const std::string& text) {
  return '"' + text + '"';
}

std::string names_of(const Dims& dims) {
  std::string text;
  for (const Dim& dim : dims) text += (text.empty() ? "" : ", ") + quoted(dim.name);
  return "[" + text + "]";
}

// An attribute as a model file writes it; adds its dimensions to `declared`.
std::string written(const AttributeValue& value, std::map<std::string, int64_t>& declared) {
  const auto declare = [&](const Dims& dims) {
    for (const Dim& dim : dims) declared[dim.name] = dim.size;
  };
  if (const Dim* dim = std::get_if<Dim>(&value)) {
    declare({*dim});
    return quoted(dim->name);
  }
  if (const Dims* dims = std::get_if<Dims>(&value)) {
    declare(*dims);
    return names_of(*dims);
  }
  if (const auto* map = std::get_if<std::vector<Renaming>>(&value)) {
    std::string text;
    for (const Renaming& entry : *map) {
      declare({entry.to});
      text += fmt::format("{}\"{}\": \"{}\"", text.empty() ? "" : ", ", entry.from, entry.to.name);
    }
    return "{" + text + "}";
  }
  if (std::holds_alternative<Windows>(value)) {
    for_each_dim(value, [&](const Dim& dim) { declare({dim}); });
    return attribute_text(value);
  }
  const bool is_text = std::holds_alternative<std::string>(value) || std::holds_alternative<DType>(value);
  return is_text ? quoted(to_string(value)) : to_string(value);
}

std::string model_of(const Signature& signature, const Example& example) {
  std::map<std::string, int64_t> declared;
  std::string inputs, operands, attributes, dims;
  for (size_t i = 0; i < example.operands.size(); ++i) {
    const TensorType& type = example.operands[i].type;
    for (const Dim& dim : type.dims) declared[dim.name] = dim.size;
    inputs += fmt::format("{}\n    \"x{}\": {{\"dims\": {}, \"dtype\": \"{}\"}}", i == 0 ? "" : ",", i,
                          names_of(type.dims), to_string(type.dtype));
    operands += fmt::format("{}\"x{}\"", i == 0 ? "" : ", ", i);
  }
  for (const auto& [name, value] : example.attributes.entries())
    attributes += fmt::format(", \"{}\": {}", name, written(value, declared));
  for (const auto& [name, size] : declared)
    dims += fmt::format("{}\"{}\": {}", dims.empty() ? "" : ", ", name, size);
  std::vector<TensorType> types;
  for (const ExampleOperand& operand : example.operands) types.push_back(operand.type);
  const std::vector<TensorType> results = signature.infer({example.attributes, types});
  std::string names, more;
  for (size_t i = 0; i < results.size(); ++i) names += fmt::format("{}\"y{}\"", i == 0 ? "" : ", ", i);
  if (is_float(results[0].dtype) && !types.empty() && is_float(types[0].dtype))
    more =
        ",\n    {\"out\": \"s\", \"op\": \"reduce_sum\", \"in\": \"y0\"},\n"
        "    {\"out\": \"g\", \"op\": \"gradients\", \"of\": \"s\", \"in\": [\"x0\"]}";
  return fmt::format(
      "{{\n  \"mtfc\": 1,\n  \"dims\": {{{}}},\n  \"inputs\": {{{}}},\n  \"ops\": [\n"
      "    {{\"out\": [{}], \"op\": \"{}\", \"in\": [{}]{}}}{}\n  ],\n  \"outputs\": [\"y0\"{}]\n}}\n",
      dims, inputs, names, signature.name, operands, attributes, more, more.empty() ? "" : ", \"g\"");
}

}  // namespace

std::vector<std::string> example_models() {
  std::vector<std::string> models;
  for (const std::string& name : operation_names()) {
    const Signature& signature = *find_signature(name);
    for (const Example& example : signature.examples) models.push_back(model_of(signature, example));
  }
  return models;
}

IncludeText bundled_include(const IncludeName& name) {
  const fs::path path = fs::path(kSourceFolder) / "models" / name.file;
  if (!name.standard || !fs::exists(path)) return {{}, "there is no such file"};
  return {contents(path)};
}

std::vector<std::string> bundled_models() {
  return files_with("\"mtfc\"", true);
}

std::vector<std::string> seed_layouts() {
  return files_with("\"mtfc\"", false);
}

CompileOptions with_decode() {
  CompileOptions options;
  options.decode = true;
  return options;
}

}  // namespace mtfc
