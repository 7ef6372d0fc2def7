#pragma once
// OpenBLAS, which is loaded when the first product is prepared: it takes hundreds of megabytes of addresses as soon as
// it is loaded, and waits without end where a limit (`ulimit -v`) leaves it fewer. Commands without products load
// nothing.

#include <cblas.h>

namespace mtfc {

/// The functions of OpenBLAS that are used.
struct OpenBlas {
  decltype(&cblas_sgemm) sgemm;
  decltype(&cblas_dgemm) dgemm;
  decltype(&cblas_sgemv) sgemv;
  decltype(&cblas_dgemv) dgemv;
};

/// Loads the library at the first call. Throws RunError if it is missing, or if there are too few addresses for it and
/// its threads. Within a parallel region, where nobody could catch that, it must be loaded already.
const OpenBlas& openblas();

}  // namespace mtfc
