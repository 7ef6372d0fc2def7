#include "formats/data/npy.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/diagnostics/error.h"

namespace mtfc::npy_test {

namespace {

// A file that lives as long as the test.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& contents)
      : path_((std::filesystem::temp_directory_path() / ("mtfc_npy_test." + std::to_string(getpid())))
                  .string()) {
    std::ofstream(path_, std::ios::binary) << contents;
  }
  ~ScratchFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string file_of(const std::string& header, const std::string& elements, char version = 1) {
  std::string text = "\x93NUMPY";
  text += version;
  text += '\0';
  text += static_cast<char>(header.size());
  text += '\0';
  if (version > 1) text += std::string(2, '\0');
  return text + header + elements;
}

std::string complaint(const std::string& contents) {
  const ScratchFile file(contents);
  try {
    read_npy(file.path());
  } catch (const RunError& error) {
    const std::string what = error.what();
    CHECK(what.starts_with(file.path() + ": "));
    return what.substr(std::min(what.size(), file.path().size() + 2));
  }
  return "";
}

}  // namespace

TEST_CASE("arrays are read as they were written") {
  const std::string elements("\0\0\x80\x3f\0\0\0\x40", 8);  // 1.0f, 2.0f
  const ScratchFile file(npy_header({DType::kF32, {{"a", 2}, {"b", 1}}}) + elements);
  const StoredArray array = read_npy(file.path());
  CHECK(array.type == StoredType::kF32);
  CHECK(array.shape == std::vector<int64_t>{2, 1});
  CHECK_FALSE(array.big_endian);
  float values[2];
  std::memcpy(values, array.data, sizeof values);
  CHECK(values[0] == 1);
  CHECK(values[1] == 2);
}

TEST_CASE("headers are NumPy's own") {
  const std::string header = npy_header({DType::kI64, {{"a", 3}}});
  CHECK(header.size() % 64 == 0);
  CHECK(header.substr(0, 10) == std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  CHECK(header.substr(10, 60).starts_with("{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }"));
  CHECK(header.back() == '\n');
  CHECK(npy_header({DType::kBool, {}}).find("'descr': '|b1', 'fortran_order': False, 'shape': (), }") !=
        std::string::npos);
}

TEST_CASE("bf16 is written as its bits, under the name that ml_dtypes gives it") {
  const std::string header = npy_header({DType::kBF16, {{"a", 2}}});
  CHECK(header.substr(10, 60).starts_with("{'descr': '<V2', 'fortran_order': False, 'shape': (2,), }"));
  const ScratchFile file(header + std::string("\x80\x3f\0\xc0", 4));  // 1, -2
  const StoredArray array = read_npy(file.path());
  CHECK(array.type == StoredType::kBF16);
  const ScratchFile other(file_of("{'descr': '|V2', 'fortran_order': False, 'shape': (1,), }\n", "12"));
  CHECK(read_npy(other.path()).type == StoredType::kBF16);
}

TEST_CASE("other writers' headers") {
  const ScratchFile big(
      file_of("{\"shape\":(2L,),\"fortran_order\":True,\"descr\":\">i2\"}\n", "\1\2\3\4", 2));
  const StoredArray array = read_npy(big.path());
  CHECK(array.big_endian);
  CHECK(array.type == StoredType::kI16);
  CHECK(array.shape == std::vector<int64_t>{2});
  const ScratchFile scalar(file_of("{'descr': '|u1', 'fortran_order': False, 'shape': (), }", "x", 3));
  CHECK(read_npy(scalar.path()).shape.empty());
  const ScratchFile empty(file_of("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 5), }", ""));
  CHECK(read_npy(empty.path()).shape == std::vector<int64_t>{0, 5});
}

TEST_CASE("broken files are refused with a reason") {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  CHECK(complaint("") == "the file is empty");
  CHECK(complaint("hello") == "not a .npy file");
  CHECK(complaint("\x93NUMPY\x01") == "the .npy header is cut off");
  CHECK(complaint(file_of(good, "").substr(0, 30)) == "the .npy header is cut off");
  CHECK(complaint(file_of(good, "1234", 9)) == "the .npy format version 9 is not known");
  CHECK(complaint(file_of(good, "1234")) ==
        "the .npy header promises 8 bytes of elements, but the file has 4");
  CHECK(complaint(file_of(good, "123456789")) ==
        "the .npy header promises 8 bytes of elements, but the file has 9");
  CHECK(complaint(file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
                          "")) == "the .npy header's sizes are impossibly large");
  CHECK(complaint(file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "")) ==
        "the .npy header has no size at byte 51");
  CHECK(complaint(file_of("{'descr': '<f4', 'fortran_order': False}", "")) ==
        "the .npy header has not all of 'descr', 'fortran_order' and 'shape'");
  CHECK(complaint(file_of("{'descr': '<f4', 'fortran_order': Fa", "")) ==
        "the .npy header has neither True nor False at byte 34");
  CHECK(complaint(file_of("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", "")) ==
        "the .npy header has a structured type, which can't be read");
  CHECK(complaint(file_of("{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }", "1234")) ==
        "elements of type '<c8' can't be read (u1 i1 u2 i2 u4 i4 u8 i8 f2 f4 f8 b1 can, and V2 as bf16)");
  CHECK(complaint(file_of("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2), }", "1234")) ==
        "the array is in column-major (Fortran) order; save the result of numpy.ascontiguousarray instead");
  CHECK(complaint(file_of("{'descr': '<f\n', 'fortran_order': False, 'shape': (2,), }", "")) ==
        "elements of type '<f\\n' can't be read (u1 i1 u2 i2 u4 i4 u8 i8 f2 f4 f8 b1 can, and V2 as bf16)");
  CHECK_THROWS_WITH_AS(read_npy("/nonexistent.npy"), "/nonexistent.npy: No such file or directory", RunError);
  CHECK_THROWS_WITH_AS(read_npy("/"), "/: not a regular file", RunError);
}

}  // namespace mtfc::npy_test
