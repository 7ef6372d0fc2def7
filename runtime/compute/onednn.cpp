#include "runtime/compute/onednn.h"

#include <algorithm>
#include <cstddef>
#include <dnnl.hpp>
#include <string_view>
#include <vector>

namespace mtfc {
namespace {

// Multiplications of one product from which oneDNN is faster: by 15 to 40 % on Zen 4, by one thread or two, and for any
// transposition. Its calls take longer, and with half as many multiplications, it is as fast as OpenBLAS.
constexpr int64_t kLeastWork = 1 << 20;
constexpr int64_t kLeastSide = 32;  // rows and columns; narrower matrices were not measured
constexpr size_t kMostLoops = 10;   // oneDNN has at most 12 dimensions

const dnnl::engine& processor() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

/// The matrices of one tensor: `rows` x `columns`, columns first in memory if `transposed`.
dnnl::memory::desc matrices(const LoopNest& batch, size_t tensor, int64_t rows, int64_t columns,
                            bool transposed, int64_t leading, DType dtype) {
  dnnl::memory::dims sizes, strides;
  const int64_t extent = leading * (transposed ? columns : rows);
  for (size_t loop = 0; loop < batch.loops(); ++loop) {
    const int64_t stride = batch.strides[tensor][loop];
    sizes.push_back(stride == 0 ? 1 : batch.extents[loop]);
    strides.push_back(stride == 0 ? extent : stride);  // oneDNN wants no smaller stride, even of one element
  }
  sizes.insert(sizes.end(), {rows, columns});
  strides.insert(strides.end(), {transposed ? 1 : leading, transposed ? leading : 1});
  const auto type = dtype == DType::kBF16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
  return {sizes, type, strides};
}

/// Memory that oneDNN needs during a call, at most a few MB. Each thread keeps its own for all products.
std::byte* scratchpad(size_t bytes) {
  thread_local std::vector<std::byte> memory;
  if (memory.size() < bytes) memory.resize(bytes);
  return memory.data();
}

}  // namespace

struct BatchedProduct::Primitive {
  explicit Primitive(const dnnl::matmul::primitive_desc& chosen)
      : matmul(chosen),
        a(chosen.src_desc(), processor(), nullptr),
        b(chosen.weights_desc(), processor(), nullptr),
        c(chosen.dst_desc(), processor(), nullptr),
        scratchpad(chosen.scratchpad_desc(), processor(), nullptr),
        scratchpad_bytes(chosen.scratchpad_desc().get_size()) {}

  dnnl::stream stream{processor()};
  dnnl::matmul matmul;
  dnnl::memory a, b, c, scratchpad;
  size_t scratchpad_bytes;
};

std::optional<BatchedProduct> BatchedProduct::prepare(const MatrixProduct& p, const LoopNest& batch,
                                                      ProductTypes types) {
  if (std::min(p.m, p.n) < kLeastSide || p.m * p.n * p.k < kLeastWork || batch.loops() > kMostLoops)
    return {};
  try {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);  // f32 throughout, whatever the environment says
    if (p.adds) {
      dnnl::post_ops adds;
      adds.append_sum(1);
      attributes.set_post_ops(adds);
    }
    const dnnl::matmul::primitive_desc chosen(
        {matrices(batch, 0, p.m, p.k, p.a_transposed, p.a_leading, types.operands),
         matrices(batch, 1, p.k, p.n, p.b_transposed, p.b_leading, types.operands),
         matrices(batch, 2, p.m, p.n, false, p.c_leading, types.result)},
        attributes, processor());
    // Its other implementations emulate instructions that the processor lacks.
    if (!std::string_view(chosen.impl_info_str()).starts_with("brg:")) return {};
    return BatchedProduct(std::make_shared<Primitive>(chosen));
  } catch (const dnnl::error&) {
    return {};
  }
}

void BatchedProduct::run(const void* a, const void* b, void* c) const {
  Primitive& p = *primitive_;
  p.a.set_data_handle(const_cast<void*>(a));
  p.b.set_data_handle(const_cast<void*>(b));
  p.c.set_data_handle(c);
  p.scratchpad.set_data_handle(scratchpad(p.scratchpad_bytes));
  p.matmul.execute(p.stream, {{DNNL_ARG_SRC, p.a},
                              {DNNL_ARG_WEIGHTS, p.b},
                              {DNNL_ARG_DST, p.c},
                              {DNNL_ARG_SCRATCHPAD, p.scratchpad}});
  p.stream.wait();
}

void SizedProducts::multiply(const MatrixProduct& p, const float* a, const float* b, float* c) {
  const auto [at, is_new] = made_.try_emplace(
      {p.m, p.n, p.k, p.a_transposed, p.b_transposed, p.a_leading, p.b_leading, p.c_leading, p.adds});
  if (is_new) at->second = BatchedProduct::prepare(p, {{}, {{}, {}, {}}});
  if (!at->second) return mtfc::multiply(p, a, b, c);
  try {
    at->second->run(a, b, c);
  } catch (const dnnl::error&) {  // before it computes anything
    at->second.reset();
    mtfc::multiply(p, a, b, c);
  }
}

}  // namespace mtfc
