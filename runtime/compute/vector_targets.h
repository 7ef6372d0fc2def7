#pragma once
// Functions compiled for the wider vectors of x86-64, beside the one for whatever the compiler targets. Which
// of them a machine can run, vector_level() of runtime/compute/tile.h says.

#if defined(__clang__)
#define MTFC_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma")))
#else
#define MTFC_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma,prefer-vector-width=512")))
#endif
#define MTFC_AVX2 __attribute__((target("avx2,fma")))
