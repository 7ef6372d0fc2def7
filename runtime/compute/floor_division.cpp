#include "runtime/compute/floor_division.h"

#include <algorithm>

#include "runtime/compute/index_check.h"

namespace mtfc {

void refuse_zeros(const LocalTensor& divisors, const std::byte* data) {
  const int64_t count = divisors.elements();
  const int64_t zero = dispatch(Integers{}, divisors.type.dtype, [&]<typename I>() {
    const I* values = reinterpret_cast<const I*>(data);
    return static_cast<int64_t>(std::find(values, values + count, I{}) - values);
  });
  if (zero < count) throw RunError("the divisor is 0" + place_text(divisors, zero));
}

}  // namespace mtfc
