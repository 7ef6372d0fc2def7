#include "formats/gguf/gguf_header.h"

#include <bit>
#include <type_traits>

namespace mtfc {
namespace {

// The types of values, by the numbers that the format has for them.
enum ValueType : uint32_t {
  kU32Value = 4,
  kI32Value = 5,
  kF32Value = 6,
  kFlagValue = 7,
  kTextValue = 8,
  kListValue = 9
};

// Little-endian.
template <typename T>
void append_number(std::string& bytes, T value) {
  uint64_t bits = 0;
  if constexpr (std::is_same_v<T, float>)
    bits = std::bit_cast<uint32_t>(value);
  else
    bits = static_cast<uint64_t>(value);
  for (size_t i = 0; i < sizeof value; ++i) bytes += static_cast<char>(bits >> 8 * i & 0xFF);
}

void append_text(std::string& bytes, std::string_view text) {
  append_number(bytes, static_cast<uint64_t>(text.size()));
  bytes += text;
}

}  // namespace

int64_t gguf_padding(int64_t bytes) {
  return (kGgufAlignment - bytes % kGgufAlignment) % kGgufAlignment;
}

void GgufHeader::begin(const std::string& key, uint32_t type) {
  append_text(values_, key);
  append_number(values_, type);
  ++value_count_;
}

void GgufHeader::add_text(const std::string& key, std::string_view value) {
  begin(key, kTextValue);
  append_text(values_, value);
}

void GgufHeader::add_u32(const std::string& key, uint32_t value) {
  begin(key, kU32Value);
  append_number(values_, value);
}

void GgufHeader::add_f32(const std::string& key, float value) {
  begin(key, kF32Value);
  append_number(values_, value);
}

void GgufHeader::add_flag(const std::string& key, bool value) {
  begin(key, kFlagValue);
  append_number(values_, static_cast<uint8_t>(value));
}

void GgufHeader::add_texts(const std::string& key, const std::vector<std::string>& values) {
  begin(key, kListValue);
  append_number(values_, static_cast<uint32_t>(kTextValue));
  append_number(values_, static_cast<uint64_t>(values.size()));
  for (const std::string& value : values) append_text(values_, value);
}

void GgufHeader::add_i32s(const std::string& key, const std::vector<int32_t>& values) {
  begin(key, kListValue);
  append_number(values_, static_cast<uint32_t>(kI32Value));
  append_number(values_, static_cast<uint64_t>(values.size()));
  for (const int32_t value : values) append_number(values_, value);
}

void GgufHeader::add_f32s(const std::string& key, const std::vector<float>& values) {
  begin(key, kListValue);
  append_number(values_, static_cast<uint32_t>(kF32Value));
  append_number(values_, static_cast<uint64_t>(values.size()));
  for (const float value : values) append_number(values_, value);
}

void GgufHeader::add_tensor(std::string_view name, const std::vector<int64_t>& shape, GgufType type,
                            int64_t bytes) {
  append_text(tensors_, name);
  append_number(tensors_, static_cast<uint32_t>(shape.size()));
  for (size_t i = shape.size(); i > 0; --i) append_number(tensors_, static_cast<uint64_t>(shape[i - 1]));
  append_number(tensors_, static_cast<uint32_t>(type));
  append_number(tensors_, static_cast<uint64_t>(end_));
  end_ += bytes + gguf_padding(bytes);
  ++tensor_count_;
}

std::string GgufHeader::bytes() const {
  std::string all = "GGUF";
  append_number(all, uint32_t{3});
  append_number(all, tensor_count_);
  append_number(all, value_count_);
  all += values_ + tensors_;
  all.append(static_cast<size_t>(gguf_padding(static_cast<int64_t>(all.size()))), '\0');
  return all;
}

}  // namespace mtfc
