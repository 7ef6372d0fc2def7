#include "cmd/published/gguf_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "cmd/files/family_files.h"
#include "cmd/files/files.h"
#include "core/diagnostics/error.h"
#include "formats/gguf/gguf_header.h"
#include "formats/gguf/gguf_tokenizer.h"
#include "formats/json/json_value.h"

namespace mtfc {
namespace {

struct ElementCode {
  ExportType type;
  GgufType code;
  uint32_t file_type;  // of a file in which most tensors are of the type
};
constexpr ElementCode kElementCodes[] = {{ExportType::kF32, GgufType::kF32, 0},
                                         {ExportType::kF16, GgufType::kF16, 1},
                                         {ExportType::kBF16, GgufType::kBF16, 32},
                                         {ExportType::kQ8, GgufType::kQ8, 7}};

const ElementCode* element_code(ExportType type) {
  const auto found = std::find_if(std::begin(kElementCodes), std::end(kElementCodes),
                                  [&](const ElementCode& known) { return known.type == type; });
  return found == std::end(kElementCodes) ? nullptr : found;
}

std::vector<std::string> texts_of(const JsonValue* list) {
  std::vector<std::string> texts;
  if (list)
    for (const JsonValue& item : list->items) texts.push_back(item.text);
  return texts;
}

bool matches_any(const std::vector<std::string>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    const size_t star = pattern.find('*');
    return name.size() >= pattern.size() && name.starts_with(pattern.substr(0, star)) &&
           name.ends_with(pattern.substr(star + 1));
  });
}

class GgufPlan {
 public:
  GgufPlan(const GgufModel& model, ExportType type)
      : model_(model),
        type_(type),
        family_(family_of(model.source.text, model.source.file, families_)),
        file_(parse_json(families_.text(family_), family_)),
        form_(file_.find("import")->find("gguf")) {
    if (!form_)
      throw UserError(fmt::format("models of the family '{}' can't be written as .gguf", family_),
                      "export a folder, which llama.cpp's own program can convert");
    if (!element_code(type))
      throw UserError(fmt::format("--export-dtype: .gguf has no {}", to_string(type)),
                      "f32, f16, bf16 and q8_0 are known");
    architecture_ = form_->find("architecture")->text;
  }

  ExportedFile file(const std::string& path) {
    ExportedFile file{path, "", {}};
    add_keys();
    add_rotations(file);
    add_tensors(file);
    file.header = header_.bytes();
    return file;
  }

 private:
  double value(const std::string& name) const {
    const auto found = model_.source.values.find(name);
    if (found == model_.source.values.end())
      throw UserError(fmt::format("the model has no '{}', which a .gguf file of its family states", name));
    return found->second;
  }

  void add_keys() {
    if (const JsonValue* const only = form_->find("only"))
      for (const JsonMember& member : only->members)
        if (value(member.key) != member.value.number())
          throw UserError(fmt::format("'{}' is {}, and llama.cpp's models of the family '{}' know only {}",
                                      member.key, value(member.key), family_, member.value.text),
                          "export a folder instead");
    header_.add_text("general.architecture", architecture_);
    header_.add_text("general.name", family_);
    header_.add_u32("general.file_type", element_code(type_)->file_type);
    if (type_ == ExportType::kQ8) header_.add_u32("general.quantization_version", 2);
    for (const JsonMember& member : form_->find("keys")->members) {
      const std::string key = architecture_ + "." + member.key;
      if (const JsonValue* const real = member.value.find("f32"))
        header_.add_f32(key, static_cast<float>(value(real->text)));
      else
        header_.add_u32(key, static_cast<uint32_t>(value(member.value.text)));
    }
    const auto vocabulary = static_cast<int64_t>(value("vocab"));
    if (model_.tokenizer.empty())
      add_no_tokenizer(vocabulary, architecture_, header_);
    else
      add_tokenizer(read_text(model_.tokenizer, "tokenizer"), model_.tokenizer, vocabulary, header_);
    add_token("bos_token_id");
    add_token("eos_token_id");
  }

  // The first of the ids that config.json has under a key.
  void add_token(const std::string& key) {
    const JsonValue model = parse_json(model_.source.text, model_.source.file);
    const JsonValue* const config = imported_config(model);
    const JsonValue* id = config ? config->find(key) : nullptr;
    if (id && id->kind == JsonKind::kArray && !id->items.empty()) id = &id->items.front();
    if (id && id->kind == JsonKind::kNumber && id->integer().value_or(-1) >= 0 && !model_.tokenizer.empty())
      header_.add_u32("tokenizer.ggml." + key, static_cast<uint32_t>(*id->integer()));
  }

  // Rotary positions that are scaled: all alike, or by factors for each pair of elements (Llama 3.1).
  void add_rotations(ExportedFile& file) {
    const double factor = value("rope_factor"), low = value("rope_low"), high = value("rope_high");
    for (const char* other : {"rope_ramp", "rope_stretched", "rope_dynamic"})
      if (value(other) != 0)
        throw UserError(
            "rotary positions that are scaled by YaRN, LongRoPE or dynamically can't be written as .gguf",
            "export a folder instead");
    if (factor == 1) return;
    if (high == 0) {
      header_.add_text(architecture_ + ".rope.scaling.type", "linear");
      header_.add_f32(architecture_ + ".rope.scaling.factor", static_cast<float>(factor));
      return;
    }
    const auto count = static_cast<int64_t>(value("rope_rotated")) / 2;
    std::string factors;
    for (int64_t i = 0; i < count; ++i) {
      const double wave = 2 * std::numbers::pi *
                          std::pow(value("rope_base"), static_cast<double>(i) / static_cast<double>(count)),
                   turns = value("rope_original") / wave;
      const double share = std::clamp((turns - low) / (high - low), 0.0, 1.0);
      const auto own = static_cast<float>(1 / ((1 - share) / factor + share));
      factors.append(reinterpret_cast<const char*>(&own), sizeof own);
    }
    ExportedPart part;
    part.tensor = {"rope_freqs.weight", {}, {count}};
    part.bytes = factors;
    add_part(std::move(part), GgufType::kF32, static_cast<int64_t>(factors.size()), file);
  }

  void add_tensors(ExportedFile& file) {
    const NameMap names = [&] {
      NameMap map;
      map.add_of_model(texts_of(form_->find("names")));
      return map;
    }();
    const std::vector<std::string> pairs = texts_of(form_->find("pairs"));
    for (PublishedTensor& tensor : published_tensors(names, model_.variables, model_.merged)) {
      if (tensor.name == tensor.placement.variables.front())
        throw UserError(
            fmt::format("'{}' has no name in .gguf files of the family '{}'", tensor.name, family_),
            "export a folder instead");
      ExportedPart part;
      part.type = type_of(tensor);
      part.pairs_halves = matches_any(pairs, tensor.name);
      part.head_rows = static_cast<int64_t>(value("d_kv"));
      part.tensor = std::move(tensor);
      const int64_t bytes = exported_bytes(part.type, element_count(part.tensor.shape));
      add_part(std::move(part), element_code(part.type)->code, bytes, file);
    }
  }

  // Vectors are f32, and so are matrices whose rows are no whole blocks.
  ExportType type_of(const PublishedTensor& tensor) const {
    if (tensor.shape.size() < 2) return ExportType::kF32;
    return type_ == ExportType::kQ8 && tensor.shape.back() % kQ8Block != 0 ? ExportType::kF32 : type_;
  }

  void add_part(ExportedPart part, GgufType code, int64_t bytes, ExportedFile& file) {
    header_.add_tensor(part.tensor.name, part.tensor.shape, code, bytes);
    part.padding = gguf_padding(bytes);
    file.parts.push_back(std::move(part));
  }

  const GgufModel& model_;
  ExportType type_;
  FamilyFiles families_ = family_files();
  std::string family_;
  JsonValue file_;
  const JsonValue* form_;
  std::string architecture_;
  GgufHeader header_;
};

}  // namespace

ExportedFile gguf_file(const GgufModel& model, ExportType type, const std::string& path) {
  return GgufPlan(model, type).file(path);
}

}  // namespace mtfc
