#include "runtime/memory/runs.h"

#include <algorithm>
#include <cstring>

#include "core/diagnostics/error.h"
#include "runtime/memory/dtypes.h"

namespace mtfc {

std::vector<std::byte> element_bytes(double value, DType dtype) {
  std::vector<std::byte> bytes(static_cast<size_t>(size_of(dtype)));
  dispatch(AllTypes{}, dtype, [&]<typename T>() {
    const T typed = static_cast<T>(value);
    std::memcpy(bytes.data(), &typed, sizeof typed);
  });
  return bytes;
}

void fill_elements(const std::vector<std::byte>& element, int64_t count, std::byte* to) {
  const auto bytes = static_cast<size_t>(count) * element.size();
  if (bytes == 0) return;
  // Copies the filled beginning behind itself, doubling it each time.
  std::memcpy(to, element.data(), element.size());
  for (size_t done = element.size(); done < bytes; done *= 2)
    std::memcpy(to + done, to, std::min(done, bytes - done));
}

int64_t elements(const std::vector<Run>& runs) {
  int64_t count = 0;
  for (const Run& run : runs) count += run.length;
  return count;
}

bool are_contiguous(const std::vector<std::vector<Run>>& lists) {
  return std::all_of(lists.begin(), lists.end(), [](const std::vector<Run>& runs) {
    return runs.empty() || (runs.size() == 1 && runs[0].is_contiguous());
  });
}

namespace {

// Steps are in elements.
struct StridedCopy {
  const std::byte* from;
  int64_t from_step;
  std::byte* to;
  int64_t to_step;
  int64_t count;
};

template <size_t kSize>
void copy_each(const StridedCopy& copy) {
  constexpr auto kBytes = static_cast<int64_t>(kSize);
  const auto [from, from_step, to, to_step, count] = copy;
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * to_step * kBytes, from + i * from_step * kBytes, kSize);
}

// The distances of `copy` are in elements of `size` bytes.
void copy_strided(const StridedCopy& copy, int64_t size) {
  switch (size) {
    case 1:
      return copy_each<1>(copy);
    case 2:
      return copy_each<2>(copy);
    case 4:
      return copy_each<4>(copy);
    case 8:
      return copy_each<8>(copy);
  }
  throw InternalError("elements of an unknown size");
}

}  // namespace

void copy_runs(const std::vector<Run>& runs, int64_t size, const std::byte* from, std::byte* to) {
  for (const Run& run : runs) {
    if (run.is_contiguous())
      std::memmove(to + run.to * size, from + run.from * size, static_cast<size_t>(run.length * size));
    else
      copy_strided({from + run.from * size, run.from_step, to + run.to * size, run.to_step, run.length},
                   size);
  }
}

std::byte* pack_runs(const std::vector<Run>& runs, int64_t size, const std::byte* from, std::byte* packed) {
  for (const Run& run : runs) {
    if (run.from_step == 1)
      std::memcpy(packed, from + run.from * size, static_cast<size_t>(run.length * size));
    else
      copy_strided({from + run.from * size, run.from_step, packed, 1, run.length}, size);
    packed += run.length * size;
  }
  return packed;
}

const std::byte* unpack_runs(const std::vector<Run>& runs, int64_t size, const std::byte* packed,
                             std::byte* to) {
  for (const Run& run : runs) {
    if (run.to_step == 1)
      std::memcpy(to + run.to * size, packed, static_cast<size_t>(run.length * size));
    else
      copy_strided({packed, 1, to + run.to * size, run.to_step, run.length}, size);
    packed += run.length * size;
  }
  return packed;
}

}  // namespace mtfc
