#pragma once
// The beginning of a GGUF file, version 3, as llama.cpp reads it: keys with values, and the places of tensors.
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mtfc {

/// Elements of tensors, by the numbers that the format has for them.
enum class GgufType : uint32_t { kF32 = 0, kF16 = 1, kQ8 = 8, kF64 = 28, kBF16 = 30 };

/// Tensors, and the header itself, are padded to multiples of so many bytes.
inline constexpr int64_t kGgufAlignment = 32;

class GgufHeader {
 public:
  void add_text(const std::string& key, std::string_view value);
  void add_u32(const std::string& key, uint32_t value);
  void add_f32(const std::string& key, float value);
  void add_flag(const std::string& key, bool value);
  void add_texts(const std::string& key, const std::vector<std::string>& values);
  void add_i32s(const std::string& key, const std::vector<int32_t>& values);
  void add_f32s(const std::string& key, const std::vector<float>& values);

  /// Adds a tensor behind those before, each padded. `shape` has the slowest dimension first.
  void add_tensor(std::string_view name, const std::vector<int64_t>& shape, GgufType type, int64_t bytes);

  /// The bytes before the first tensor.
  std::string bytes() const;

 private:
  void begin(const std::string& key, uint32_t type);

  std::string values_, tensors_;
  uint64_t value_count_ = 0, tensor_count_ = 0;
  int64_t end_ = 0;  // of the tensors
};

/// The zeros that follow so many bytes.
int64_t gguf_padding(int64_t bytes);

}  // namespace mtfc
