#include "runtime/execute/finite_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/tensors/bf16.h"
#include "runtime/compute/index_check.h"

namespace mtfc {
namespace {

// An exponent of ones only is that of infinities and NaNs. Blocks are looked at as a whole, which the compiler turns
// into vector code.
template <typename Bits>
bool all_finite(const std::byte* data, int64_t count, Bits exponent) {
  Bits any = 0;
  for (int64_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, data + i * static_cast<int64_t>(sizeof bits), sizeof bits);
    any |= static_cast<Bits>((bits & exponent) == exponent);
  }
  return any == 0;
}

template <typename T, typename Bits>
int64_t first_in(const LocalShard& shard, bool infinities, Bits exponent) {
  constexpr int64_t kBlock = 4096;
  const T* values = reinterpret_cast<const T*>(shard.data);
  const int64_t count = shard.elements();
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, count);
    if (all_finite(shard.data + begin * static_cast<int64_t>(sizeof(T)), end - begin, exponent)) continue;
    for (int64_t i = begin; i < end; ++i)
      if (!std::isfinite(values[i]) && (infinities || std::isnan(values[i]))) return i;
  }
  return -1;
}

double number_at(const LocalShard& shard, int64_t i) {
  switch (shard.type.dtype) {
    case DType::kF64:
      return reinterpret_cast<const double*>(shard.data)[i];
    case DType::kBF16:
      return reinterpret_cast<const Bf16*>(shard.data)[i];
    default:
      return reinterpret_cast<const float*>(shard.data)[i];
  }
}

}  // namespace

int64_t first_not_finite(const LocalShard& shard, bool infinities) {
  if (!is_float(shard.type.dtype)) return -1;
  switch (shard.type.dtype) {
    case DType::kF64:
      return first_in<double>(shard, infinities, uint64_t{0x7ff0000000000000});
    case DType::kBF16:
      return first_in<Bf16>(shard, infinities, uint16_t{0x7f80});
    default:
      return first_in<float>(shard, infinities, uint32_t{0x7f800000});
  }
}

std::string not_finite_problem(const std::string& name, const LocalShard& shard, bool infinities) {
  const int64_t at = first_not_finite(shard, infinities);
  return at < 0 ? "" : not_finite_text(name, number_at(shard, at), {shard.type, shard.box}, at);
}

std::string not_finite_variable(const Executor& executor) {
  const std::vector<ProgramVariable>& variables = executor.program().variables;
  for (size_t v = 0; v < variables.size(); ++v)
    for (size_t device = 0; device < executor.devices(); ++device) {
      const VariableDecl& decl = variables[v].decl;
      const std::string problem =
          not_finite_problem(decl.name, executor.variable(v, device), decl.trainable || decl.optimizer_state);
      if (!problem.empty()) return "the variable " + problem;
    }
  return "";
}

std::string on_device(const std::string& message, const Mesh& mesh, const Coordinates& at) {
  if (mesh.devices() == 1) return message;
  std::string device;
  for (size_t i = 0; i < at.size(); ++i)
    device += fmt::format("{}{}={}", i == 0 ? "" : ",", mesh.axes()[i].name, at[i]);
  return fmt::format("{} (on device {})", message, device);
}

}  // namespace mtfc
