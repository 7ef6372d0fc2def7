#include "formats/data/checkpoint_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "core/diagnostics/error.h"
#include "core/tensors/data.h"
#include "core/tensors/random_bits.h"
#include "formats/json/json_value.h"
#include "formats/json/mapped_file.h"
#include "formats/json/ordered_json.h"

namespace mtfc {
namespace {

constexpr size_t kLongest = 1 << 20;
constexpr const char* kVersionKey = "mtfc_checkpoint";
constexpr const char* kChecksumKey = "checksum";
constexpr int64_t kVersion = 1;

// The end of a file that begins with `text`.
std::string checksum_text(std::string_view text) {
  return fmt::format(",\"{}\":\"{:016x}\"}}\n", kChecksumKey, hash_bytes(text));
}

// Older notes have no checksum.
void require_intact(std::string_view text, const JsonValue& json, const std::string& file) {
  if (!json.find(kChecksumKey)) return;
  const size_t end = std::min(text.rfind(fmt::format(",\"{}\":", kChecksumKey)), text.size());
  if (text.substr(end) != checksum_text(text.substr(0, end)))
    throw RunError(fmt::format("{} is damaged: its contents differ from its checksum", file));
}

JsonValue parsed(std::string_view text, const std::string& file) {
  try {
    return parse_json(text, file);
  } catch (const UserError& error) {
    throw RunError(fmt::format("{}: {}", file, error.diagnostics().front().message));
  }
}

uint64_t count_at(const JsonValue& notes, const char* key, const std::string& file) {
  const JsonValue* value = notes.find(key);
  uint64_t count = 0;
  if (value && value->kind == JsonKind::kNumber) {
    const std::string& text = value->text;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error == std::errc() && end == text.data() + text.size() && count <= INT64_MAX) return count;
  }
  throw RunError(fmt::format("{}: the file lacks the whole number '{}'", file, key));
}

// The sample of a file, unless the object is of another kind.
std::optional<FileSample> sample_in(const JsonValue& json) {
  if (json.kind != JsonKind::kObject) return std::nullopt;
  const JsonValue *file = json.find("file"), *bytes = json.find("bytes"), *hash = json.find("hash");
  if (!file || !bytes || !hash || file->kind != JsonKind::kString || bytes->kind != JsonKind::kNumber ||
      !bytes->integer() || hash->kind != JsonKind::kString)
    return std::nullopt;
  FileSample sample{file->text, *bytes->integer(), 0};
  const char* end = hash->text.data() + hash->text.size();
  const auto [stop, error] = std::from_chars(hash->text.data(), end, sample.hash, 16);
  if (error != std::errc() || stop != end) return std::nullopt;
  return sample;
}

// A number of steps or rows.
int64_t tally_at(const JsonValue& notes, const char* key, const std::string& file) {
  const uint64_t count = count_at(notes, key, file);
  if (count > kMostCounted)
    throw RunError(
        fmt::format("{}: '{}' is {}, more than the {} that a run can count", file, key, count, kMostCounted));
  return static_cast<int64_t>(count);
}

}  // namespace

std::string checkpoint_json(const CheckpointNotes& notes) {
  Json json;
  json[kVersionKey] = kVersion;
  json["model"] = notes.model;
  json["step"] = notes.step;
  json["seed"] = notes.seed;
  json["rows"] = notes.rows;
  Json sets = Json::object(), names = Json::object();
  for (const std::string& set : notes.sets)
    if (const size_t equals = set.find('='); equals != std::string::npos)
      sets[set.substr(0, equals)] = set.substr(equals + 1);
  for (const auto& [name, value] : notes.names) names[name] = value;
  if (!sets.empty()) json["set"] = std::move(sets);
  if (notes.dtype) json["dtype"] = *notes.dtype;
  if (!names.empty()) json["names"] = std::move(names);
  for (const auto& [input, file] : notes.files)
    json["files"][input] = {
        {"file", file.path}, {"bytes", file.bytes}, {"hash", fmt::format("{:016x}", file.hash)}};
  std::string text = json.dump();
  text.pop_back();  // the brace
  return text + checksum_text(text);
}

CheckpointNotes read_checkpoint_notes(const std::string& path) {
  const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  if (text.size() > kLongest) throw RunError(path + ": not a checkpoint.json of mtfc");
  const JsonValue json = parsed(text, path);
  if (json.kind != JsonKind::kObject || !json.find(kVersionKey))
    throw RunError(path + ": not a checkpoint.json of mtfc");
  require_intact(text, json, path);
  const uint64_t version = count_at(json, kVersionKey, path);
  if (version != kVersion)
    throw RunError(fmt::format("{}: version {} of checkpoints is not known", path, version));
  CheckpointNotes notes;
  const JsonValue* model = json.find("model");
  if (model && model->kind == JsonKind::kString) notes.model = model->text;
  notes.step = tally_at(json, "step", path);
  notes.seed = count_at(json, "seed", path);
  notes.rows = tally_at(json, "rows", path);
  if (const JsonValue* sets = json.find("set"); sets && sets->kind == JsonKind::kObject)
    for (const JsonMember& set : sets->members)
      if (set.value.kind == JsonKind::kString) notes.sets.push_back(set.key + "=" + set.value.text);
  if (const JsonValue* dtype = json.find("dtype"); dtype && dtype->kind == JsonKind::kString) {
    if (!value_named<DType>(dtype->text))
      throw RunError(fmt::format("{}: the dtype '{}' is not known", path, dtype->text));
    notes.dtype = dtype->text;
  }
  if (const JsonValue* names = json.find("names"); names && names->kind == JsonKind::kObject)
    for (const JsonMember& name : names->members)
      if (name.value.kind == JsonKind::kNumber) notes.names[name.key] = name.value.number();
  if (const JsonValue* files = json.find("files"); files && files->kind == JsonKind::kObject)
    for (const JsonMember& input : files->members)
      if (const std::optional<FileSample> sample = sample_in(input.value)) notes.files[input.key] = *sample;
  return notes;
}

std::string names_json(const std::vector<std::string>& names) {
  return Json(names).dump();
}

std::vector<std::string> names_in_json(const std::string& text) {
  const std::optional<JsonValue> json = find_json(text);
  std::vector<std::string> names;
  if (!json || json->kind != JsonKind::kArray) return names;
  for (const JsonValue& name : json->items)
    if (name.kind == JsonKind::kString) names.push_back(name.text);
  return names;
}

}  // namespace mtfc
