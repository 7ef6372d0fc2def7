#include "formats/data/csv_rows.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <limits>

namespace mtfc::csv_rows_test {
namespace {

const std::byte* bytes_of(const void* data) {
  return static_cast<const std::byte*>(data);
}

}  // namespace

TEST_CASE("rows are lines, whatever dimension they lie along") {
  const float table[] = {1, 2, 3, 4, 5, 6}, vector[] = {0.1F, 1e-7F};
  const int64_t whole[] = {9007199254740993, -1};
  const std::vector<RowTensor> tensors = {
      {"rows", {DType::kF32, {{"n", 2}, {"c", 3}}}, 0, bytes_of(table)},
      {"columns", {DType::kF32, {{"c", 3}, {"n", 2}}}, 1, bytes_of(table)},
      {"deep", {DType::kF32, {{"a", 1}, {"n", 2}, {"b", 3}}}, 1, bytes_of(table)},
      {"x,\"y\"", {DType::kF32, {{"n", 2}}}, 0, bytes_of(vector)},
      {"i", {DType::kI64, {{"n", 2}}}, 0, bytes_of(whole)}};
  CHECK(csv_header(tensors) ==
        "rows.0,rows.1,rows.2,columns.0,columns.1,columns.2,deep.0.0,deep.0.1,deep.0.2,\"x,\"\"y\"\"\",i\n");
  CHECK(csv_rows(tensors, 2) ==
        "1,2,3,1,3,5,1,2,3,0.1,9007199254740993\n"
        "4,5,6,2,4,6,4,5,6,1e-07,-1\n");
  CHECK(csv_rows(tensors, 1) == "1,2,3,1,3,5,1,2,3,0.1,9007199254740993\n");
}

TEST_CASE("numbers are read again as they were, and bools are 1 and 0") {
  const float numbers[] = {1.0F / 3, 16777216, std::numeric_limits<float>::denorm_min(), -0.0F,
                           std::numeric_limits<float>::max()};
  const std::string text = csv_rows({{"x", {DType::kF32, {{"n", 5}}}, 0, bytes_of(numbers)}}, 5);
  const char* at = text.c_str();
  for (const float number : numbers) {
    char* end = nullptr;
    CHECK(std::strtof(at, &end) == number);
    at = end + 1;
  }
  const bool flags[] = {true, false};
  CHECK(csv_rows({{"b", {DType::kBool, {{"n", 2}}}, 0, bytes_of(flags)}}, 2) == "1\n0\n");
}

}  // namespace mtfc::csv_rows_test
