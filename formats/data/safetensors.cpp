#include "formats/data/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "core/diagnostics/error.h"
#include "formats/data/file_sample.h"
#include "formats/json/json_value.h"
#include "formats/json/mapped_file.h"
#include "formats/json/ordered_json.h"

namespace mtfc {
namespace {

constexpr size_t kLengthBytes = 8;
constexpr size_t kLongestHeader = 100'000'000;
constexpr size_t kMostDimensions = 64;
constexpr size_t kAlignedHeader = 8;

constexpr const char* kMetadataKey = "__metadata__";

struct StoredName {
  std::string_view name;
  StoredType type;
};
constexpr StoredName kStoredNames[] = {
    {"BOOL", StoredType::kBool}, {"U8", StoredType::kU8},     {"I8", StoredType::kI8},
    {"U16", StoredType::kU16},   {"I16", StoredType::kI16},   {"U32", StoredType::kU32},
    {"I32", StoredType::kI32},   {"U64", StoredType::kU64},   {"I64", StoredType::kI64},
    {"F16", StoredType::kF16},   {"BF16", StoredType::kBF16}, {"F32", StoredType::kF32},
    {"F64", StoredType::kF64},   {"F8_E4M3", StoredType::kF8}};

// The header's entry for one tensor.
struct Entry {
  std::string name;
  std::optional<StoredType> type;
  std::string unreadable = {};  // the name of a type that is none of these
  std::optional<std::vector<int64_t>> shape;
  std::optional<std::vector<int64_t>> offsets;
};

// Handles the events of a header's JSON and refuses anything unexpected as soon as it appears, so that a
// hostile header takes no more memory than its entries.
class HeaderHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderHandler(const std::string& file) : file_(file) {}
  std::vector<Entry>& entries() { return entries_; }
  std::map<std::string, std::string>& metadata() { return metadata_; }

  // Other readers take null for no metadata.
  bool null() override { return (state_ == State::kTensors && key_ == kMetadataKey) || unexpected("null"); }
  bool boolean(bool) override { return unexpected("true or false"); }
  bool number_float(number_float_t, const string_t& text) override { return unexpected(text); }
  bool binary(binary_t&) override { return unexpected("binary data"); }
  bool number_integer(number_integer_t value) override { return unexpected(fmt::format("{}", value)); }
  bool number_unsigned(number_unsigned_t value) override {
    if (state_ != State::kShape && state_ != State::kOffsets) return unexpected(fmt::format("{}", value));
    if (value > static_cast<uint64_t>(INT64_MAX))
      fail(fmt::format("has the {} {} for '{}', which is too large",
                       state_ == State::kShape ? "size" : "offset", value, entry().name));
    std::vector<int64_t>& numbers = *(state_ == State::kShape ? entry().shape : entry().offsets);
    if (numbers.size() == kMostDimensions) fail(fmt::format("has too long a list for '{}'", entry().name));
    numbers.push_back(static_cast<int64_t>(value));
    return true;
  }
  bool string(string_t& value) override {
    if (state_ == State::kMetadata) {
      metadata_[key_] = std::move(value);
      return true;
    }
    if (state_ != State::kEntry || key_ != "dtype") return unexpected("a string");
    entry().type = type_named(value);
    if (!entry().type) entry().unreadable = std::move(value);
    return true;
  }
  bool start_object(std::size_t) override {
    if (state_ == State::kBefore) {
      state_ = State::kTensors;
      return true;
    }
    if (state_ != State::kTensors) return unexpected("an object");
    state_ = key_ == kMetadataKey ? State::kMetadata : State::kEntry;
    if (state_ == State::kEntry) entries_.push_back({std::move(key_), {}, {}, {}, {}});
    return true;
  }
  bool end_object() override {
    state_ = state_ == State::kTensors ? State::kAfter : State::kTensors;
    return true;
  }
  bool start_array(std::size_t) override {
    if (state_ != State::kEntry) return unexpected("a list");
    if (key_ != "shape" && key_ != "data_offsets") return unexpected("a list");
    const bool is_shape = key_ == "shape";
    std::optional<std::vector<int64_t>>& list = is_shape ? entry().shape : entry().offsets;
    if (list) fail(fmt::format("has two lists '{}' for '{}'", key_, entry().name));
    list.emplace();
    state_ = is_shape ? State::kShape : State::kOffsets;
    return true;
  }
  bool end_array() override {
    state_ = State::kEntry;
    return true;
  }
  bool key(string_t& name) override {
    if (state_ == State::kEntry && name != "dtype" && name != "shape" && name != "data_offsets")
      fail(fmt::format("has the unknown key '{}' for '{}'", name, entry().name));
    key_ = std::move(name);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    fail(fmt::format("is not valid JSON at its byte {}", position));
  }

 private:
  enum class State { kBefore, kTensors, kMetadata, kEntry, kShape, kOffsets, kAfter };
  Entry& entry() { return entries_.back(); }

  [[noreturn]] void fail(const std::string& what) const {
    throw RunError(fmt::format("{}: the .safetensors header {}", file_, what));
  }
  bool unexpected(const std::string& what) {
    if (state_ == State::kBefore) fail("is " + what + " instead of an object");
    if (state_ == State::kMetadata)
      fail(fmt::format("has {} under '{}' of {}, where a string belongs", what, key_, kMetadataKey));
    if (state_ == State::kTensors) fail(fmt::format("has {} under '{}', where a tensor belongs", what, key_));
    fail(fmt::format("has {} in '{}' of '{}', where it does not belong", what, key_, entry().name));
  }
  static std::optional<StoredType> type_named(const std::string& name) {
    for (const StoredName& candidate : kStoredNames)
      if (candidate.name == name) return candidate.type;
    return std::nullopt;
  }

  const std::string& file_;
  State state_ = State::kBefore;
  std::string key_;
  std::vector<Entry> entries_;
  std::map<std::string, std::string> metadata_;
};

[[noreturn]] void fail(const std::string& file, const std::string& what) {
  throw RunError(file + ": " + what);
}

// The kind of a file that is not .safetensors and what to do with it, by its first bytes; "" if they tell nothing.
std::string other_kind(std::string_view text) {
  struct Kind {
    std::string_view begin;
    const char* what;
  };
  constexpr Kind kKinds[] = {
      {"\x93NUMPY", "an array of NumPy, which --load NAME=FILE.npy takes for one variable"},
      {"PK\x03\x04",
       "a zip archive, as PyTorch's .bin and .pt and NumPy's .npz are: save its tensors as .safetensors"},
      {"\x80\x02", "a pickle of PyTorch: save its tensors as .safetensors"},
      {"\x89HDF", "an HDF5 file: save its tensors as .safetensors"},
      {"GGUF", "a GGUF file: save its tensors as .safetensors"},
  };
  for (const Kind& kind : kKinds)
    if (text.starts_with(kind.begin)) return kind.what;
  const std::string_view beginning = text.substr(0, 256);
  const bool is_text = std::all_of(beginning.begin(), beginning.end(), [](char c) {
    return (c >= ' ' && c != 0x7F) || c == '\n' || c == '\r' || c == '\t';
  });
  if (!is_text) return "";
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' ? "a JSON file" : "a text";
}

// Returns the header's text.
std::string_view locate_header(std::span<const std::byte> bytes, const std::string& file) {
  if (bytes.empty()) fail(file, "the file is empty");
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string_view rest = text.substr(std::min(kLengthBytes, text.size()));
  uint64_t length = 0;
  for (size_t i = 0; i < std::min(kLengthBytes, text.size()); ++i)
    length |= std::to_integer<uint64_t>(bytes[i]) << 8 * i;
  if (text.size() < kLengthBytes || length > rest.size() || !rest.starts_with('{'))
    if (const std::string kind = other_kind(text); !kind.empty())
      fail(file, "not a .safetensors file, but " + kind);
  if (text.size() < kLengthBytes) fail(file, "not a .safetensors file");
  if (length > kLongestHeader)
    fail(file, fmt::format("the .safetensors header has {} bytes, more than the {} allowed, or this is not a "
                           ".safetensors file",
                           length, kLongestHeader));
  if (length > rest.size())
    fail(file,
         fmt::format("the .safetensors header is cut off: it has {} bytes, but the file has only {} for it",
                     length, rest.size()));
  const std::string_view header = rest.substr(0, length);
  if (!header.starts_with('{')) fail(file, "not a .safetensors file: its header is not a JSON object");
  // nlohmann would take a zero byte for the end of the text.
  if (const size_t zero = header.find('\0'); zero != std::string_view::npos)
    fail(file, fmt::format("the .safetensors header has a zero byte at {}", zero));
  return header;
}

// Throws unless the tensor's elements occupy exactly [offsets[0], offsets[1]).
void check_entry(const Entry& entry, const std::string& file) {
  const std::string name = fmt::format("the .safetensors header says that '{}'", entry.name);
  for (const auto& [known, key] : {std::pair(entry.type || !entry.unreadable.empty(), "dtype"),
                                   {entry.shape.has_value(), "shape"},
                                   {entry.offsets.has_value(), "data_offsets"}})
    if (!known) fail(file, fmt::format("{} has no '{}'", name, key));
  const std::vector<int64_t>& offsets = *entry.offsets;
  if (offsets.size() != 2 || offsets[0] > offsets[1])
    fail(file, fmt::format("{} does not lie between two ascending offsets", name));
  if (!entry.type) return;
  int64_t bytes = size_of(*entry.type);
  const std::vector<int64_t>& shape = *entry.shape;
  const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  for (const int64_t size : shape)
    if (!empty && __builtin_mul_overflow(bytes, size, &bytes))
      fail(file, name + " has impossibly large sizes");
  if (empty) bytes = 0;
  if (bytes != offsets[1] - offsets[0])
    fail(file, fmt::format("{} has {} bytes of elements by its shape and {} by its offsets", name, bytes,
                           offsets[1] - offsets[0]));
}

// Says that a tensor can't be read.
std::string unreadable_text(const Entry& entry, const std::string& file) {
  std::string known;
  for (const StoredName& candidate : kStoredNames)
    known += fmt::format("{}{}", known.empty() ? "" : " ", candidate.name);
  return fmt::format(
      "{}: the .safetensors header says that '{}' has elements of type '{}', which can't be read ({} can)",
      file, entry.name, entry.unreadable, known);
}

// Checks that each byte after the header belongs to exactly one tensor.
void check_cover(const std::vector<Entry>& entries, int64_t bytes, const std::string& file) {
  using Extent = std::tuple<int64_t, int64_t, const std::string*>;
  std::vector<Extent> extents;
  for (const Entry& entry : entries)
    extents.emplace_back((*entry.offsets)[0], (*entry.offsets)[1], &entry.name);
  std::sort(extents.begin(), extents.end());
  int64_t reached = 0;
  const std::string* before = nullptr;
  for (const auto& [begin, end, name] : extents) {
    if (begin < reached)
      fail(file, fmt::format("the .safetensors header lets '{}' and '{}' overlap", *before, *name));
    if (begin > reached)
      fail(file, fmt::format("the .safetensors header leaves bytes {} to {} before '{}' to no tensor",
                             reached, begin, *name));
    reached = end;
    before = name;
  }
  if (reached != bytes)
    fail(file, fmt::format("the .safetensors header promises {} bytes of elements, but the file has {}",
                           reached, bytes));
}

std::string_view code_of(StoredType type) {
  return std::find_if(std::begin(kStoredNames), std::end(kStoredNames),
                      [&](const StoredName& known) { return known.type == type; })
      ->name;
}

// Gives the tensors their checksums, where the metadata has them in the form of checksums_json().
void add_checksums(Safetensors& file) {
  const auto text = file.metadata.find(kChecksumsKey);
  if (text == file.metadata.end()) return;
  const std::optional<JsonValue> json = find_json(text->second);
  if (!json || json->kind != JsonKind::kObject) return;
  for (const JsonMember& member : json->members) {
    const auto tensor = file.tensors.find(member.key);
    if (tensor == file.tensors.end() || member.value.kind != JsonKind::kString) continue;
    const std::string& digits = member.value.text;
    uint64_t sum = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), sum, 16);
    if (error == std::errc() && end == digits.data() + digits.size()) tensor->second.checksum = sum;
  }
}

// An index may come from anywhere, and must not choose among the files outside of its folder.
bool leaves_folder(const std::filesystem::path& file) {
  return file.is_absolute() || *file.lexically_normal().begin() == "..";
}

}  // namespace

std::string name_problem(const std::string& variable) {
  if (variable != kMetadataKey) return "";
  return fmt::format("a variable can't be called '{}': files of weights have this name for something else",
                     variable);
}

std::string checksums_json(const std::map<std::string, uint64_t>& checksums) {
  Json json = Json::object();
  for (const auto& [name, sum] : checksums) json[name] = fmt::format("{:016x}", sum);
  return json.dump();
}

Safetensors read_safetensors(const std::string& path) {
  const std::shared_ptr<const MappedFile> mapped = MappedFile::open(path);
  const std::string_view header = locate_header(mapped->bytes(), path);
  HeaderHandler handler(path);
  nlohmann::json::sax_parse(header.begin(), header.end(), &handler);
  std::vector<Entry>& entries = handler.entries();
  for (const Entry& entry : entries) check_entry(entry, path);
  const std::span<const std::byte> elements = mapped->bytes().subspan(kLengthBytes + header.size());
  check_cover(entries, static_cast<int64_t>(elements.size()), path);
  Safetensors found{path, {}, std::move(handler.metadata()), {}};
  const FileSample sample = sample_of(path, mapped->bytes());
  std::set<std::string> names;
  for (Entry& entry : entries) {
    if (!names.insert(entry.name).second)
      fail(path, fmt::format("the .safetensors header has '{}' twice", entry.name));
    if (!entry.type) {
      found.unreadable.emplace(entry.name, unreadable_text(entry, path));
      continue;
    }
    StoredArray array;
    array.file = fmt::format("{}: '{}'", path, entry.name);
    array.type = *entry.type;
    array.shape = std::move(*entry.shape);
    array.data = elements.data() + (*entry.offsets)[0];
    array.owner = mapped;
    array.sample = sample;
    found.tensors.emplace(entry.name, std::move(array));
  }
  add_checksums(found);
  return found;
}

std::vector<std::string> safetensors_files(const std::string& path) {
  const std::shared_ptr<const MappedFile> mapped = MappedFile::open(path);
  const std::string_view text(reinterpret_cast<const char*>(mapped->bytes().data()), mapped->bytes().size());
  // A file of tensors begins with the length of its header, which never needs all of its eight bytes.
  if (!text.starts_with('{') || text.substr(0, kLengthBytes).find('\0') != std::string_view::npos)
    return {path};
  const std::optional<JsonValue> json = find_json(std::string(text));
  const JsonValue* map = json && json->kind == JsonKind::kObject ? json->find("weight_map") : nullptr;
  if (!map || map->kind != JsonKind::kObject)
    fail(path, "a JSON file without a \"weight_map\", so that it is no index of .safetensors files");
  std::set<std::string> names;
  for (const JsonMember& member : map->members) {
    if (member.value.kind != JsonKind::kString)
      fail(path, fmt::format("\"weight_map\" gives no file for '{}'", member.key));
    if (leaves_folder(member.value.text))
      fail(path, fmt::format("\"weight_map\" gives the file '{}' for '{}', which is not in the folder of the "
                             "index",
                             member.value.text, member.key));
    names.insert(member.value.text);
  }
  if (names.empty()) fail(path, "\"weight_map\" names no files");
  std::vector<std::string> files;
  for (const std::string& name : names)
    files.push_back((std::filesystem::path(path).parent_path() / name).string());
  return files;
}

SafetensorsPlan plan_safetensors(std::vector<TensorPlace> tensors,
                                 const std::map<std::string, std::string>& metadata) {
  std::sort(tensors.begin(), tensors.end(), [](const TensorPlace& a, const TensorPlace& b) {
    return std::tuple(-size_of(a.type), a.name) < std::tuple(-size_of(b.type), b.name);
  });
  std::string text = "{";
  const auto add = [&](const std::string& name, const Json& value) {
    text += fmt::format("{}{}:{}", text.size() > 1 ? "," : "", Json(name).dump(), value.dump());
  };
  if (!metadata.empty()) {
    Json object = Json::object();
    for (const auto& [key, value] : metadata) object[key] = value;
    add(kMetadataKey, object);
  }
  int64_t end = 0;
  for (TensorPlace& tensor : tensors) {
    tensor.offset = end;
    end += tensor.bytes();
    add(tensor.name,
        {{"dtype", code_of(tensor.type)}, {"shape", tensor.shape}, {"data_offsets", {tensor.offset, end}}});
  }
  text += "}";
  while (text.size() % kAlignedHeader != 0) text += ' ';
  if (text.size() > kLongestHeader)
    throw RunError(
        fmt::format("{} tensors are too many for the header of a .safetensors file", tensors.size()));
  SafetensorsPlan plan;
  for (size_t i = 0; i < kLengthBytes; ++i) plan.header += static_cast<char>(text.size() >> 8 * i & 0xFF);
  plan.header += text;
  const auto start = static_cast<int64_t>(plan.header.size());
  for (TensorPlace& tensor : tensors) tensor.offset += start;
  plan.places = std::move(tensors);
  plan.file_bytes = start + end;
  return plan;
}

}  // namespace mtfc
