#include "formats/data/csv_rows.h"

#include <fmt/format.h>

#include <cstring>
#include <iterator>

#include "core/diagnostics/error.h"
#include "core/tensors/bf16.h"

namespace mtfc {
namespace {

std::string quoted_name(const std::string& name) {
  if (name.find_first_of(",;\"\r\n") == std::string::npos) return name;
  std::string text = "\"";
  for (const char letter : name) text += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return text + "\"";
}

// The elements of a row, apart from the dimension that the rows lie along.
Dims dims_of_row(const RowTensor& tensor) {
  Dims dims = tensor.type.dims;
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(tensor.row_dim));
  return dims;
}

// `.1.0` for an element in the middle of [2, 2]; "" for the only element of a row.
std::string indices_text(const Dims& dims, int64_t element) {
  std::string text;
  for (size_t i = dims.size(); i-- > 0; element /= dims[i].size)
    text.insert(0, fmt::format(".{}", element % dims[i].size));
  return text;
}

template <typename Element>
Element element_at(const std::byte* data, int64_t index) {
  Element element;
  std::memcpy(&element, data + index * static_cast<int64_t>(sizeof element), sizeof element);
  return element;
}

void add_number(std::string& text, DType dtype, const std::byte* data, int64_t index) {
  const auto add = [&](auto number) { fmt::format_to(std::back_inserter(text), "{}", number); };
  switch (dtype) {
    case DType::kF32:
      return add(element_at<float>(data, index));
    case DType::kF64:
      return add(element_at<double>(data, index));
    case DType::kBF16:
      return add(static_cast<float>(element_at<Bf16>(data, index)));
    case DType::kI32:
      return add(element_at<int32_t>(data, index));
    case DType::kI64:
      return add(element_at<int64_t>(data, index));
    case DType::kI8:
      return add(int{element_at<int8_t>(data, index)});
    case DType::kBool:
      return add(int{element_at<uint8_t>(data, index)});
  }
}

// Adds the elements of a row, each with a comma behind it.
void add_cells(std::string& text, const RowTensor& tensor, int64_t row) {
  const Dims& dims = tensor.type.dims;
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < dims.size(); ++i)
    if (i != tensor.row_dim) (i < tensor.row_dim ? outer : inner) *= dims[i].size;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      add_number(text, tensor.type.dtype, tensor.data, (o * dims[tensor.row_dim].size + row) * inner + i);
      text += ',';
    }
}

}  // namespace

std::string csv_header(const std::vector<RowTensor>& tensors) {
  std::string line;
  for (const RowTensor& tensor : tensors) {
    const Dims dims = dims_of_row(tensor);
    for (int64_t i = 0; i < elements(dims); ++i)
      line += quoted_name(tensor.name + indices_text(dims, i)) + ",";
  }
  if (!line.empty()) line.back() = '\n';
  return line;
}

std::string csv_rows(const std::vector<RowTensor>& tensors, int64_t rows) {
  std::string text;
  for (int64_t row = 0; row < rows; ++row) {
    for (const RowTensor& tensor : tensors) add_cells(text, tensor, row);
    if (!text.empty()) text.back() = '\n';
  }
  return text;
}

}  // namespace mtfc
