#pragma once
// Numbers that are read from text, one after another, and the array that they become: of bytes if all are whole numbers
// from 0 to 255, so that they can feed bools too, of i64 if all are whole, and otherwise of f64.

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "core/tensors/data.h"
#include "formats/data/data_file.h"

namespace mtfc {

using TextNumber = std::variant<int64_t, double>;

/// The number that a text is, with blanks around it; `true` and `false` are 1 and 0. Nothing for any other text.
std::optional<TextNumber> number_in(std::string_view text);

class NumberList {
 public:
  void add(TextNumber number);
  /// The array of this shape, from the file `file`.
  StoredArray array(const DataFile& file, std::vector<int64_t> shape) const;

 private:
  std::vector<int64_t> whole_;  // as long as there are no others
  std::vector<double> fractions_;
  bool all_whole_ = true;
  bool all_bytes_ = true;
};

}  // namespace mtfc
