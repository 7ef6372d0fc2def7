#pragma once
// Attributes that compile a function for the wider vectors of x86-64, beside the version for the compiler's
// target. vector_level() says which versions a machine can run.

#if defined(__clang__)
#define MTFC_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma")))
#else
#define MTFC_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma,prefer-vector-width=512")))
#endif
#define MTFC_AVX2 __attribute__((target("avx2,fma")))

namespace mtfc {

enum class VectorLevel { kPlain, kAvx2, kAvx512 };
/// The widest vectors that this machine has.
VectorLevel vector_level();

}  // namespace mtfc

// For what such a function calls, which is to be compiled for the same vectors.
#define MTFC_INLINE [[gnu::always_inline]] static inline
