// .npz archives as NumPy writes them; zip archives that are broken.

#include <doctest/doctest.h>
#include <zlib.h>

#include <string>
#include <vector>

#include "core/diagnostics/error.h"
#include "core/testing/scratch_folder.h"
#include "formats/data/npy.h"
#include "formats/testing/zip_bytes.h"

namespace mtfc::npz_test {
namespace {

const std::string kFirst = npy_header({DType::kF32, {{"a", 2}}}) + std::string("\0\0\x80\x3f\0\0\0\x40", 8);
const std::string kSecond = npy_header({DType::kI32, {{"a", 1000}}}) + std::string(4000, '\1');

std::string complaint(const ScratchFolder& folder, const std::string& bytes, const std::string& array) {
  const std::string path = folder.write("x.npz", bytes);
  try {
    read_npz(path, array);
  } catch (const RunError& error) {
    const std::string what = error.what();
    CHECK(what.starts_with(path));
    return what.substr(path.size());
  }
  return "";
}

}  // namespace

TEST_CASE("arrays of an archive are read by name, packed or not") {
  const ScratchFolder folder;
  for (const bool packed : {false, true}) {
    const std::string path =
        folder.write("x.npz", zip_bytes({{"first.npy", kFirst}, {"second.npy", kSecond}}, packed));
    const StoredArray first = read_npz(path, "first"), second = read_npz(path, "second");
    CHECK(first.type == StoredType::kF32);
    CHECK(first.shape == std::vector<int64_t>{2});
    CHECK(first.data[3] == std::byte{0x3f});
    CHECK(first.sample.path == path);
    CHECK(second.shape == std::vector<int64_t>{1000});
    CHECK(second.data[3999] == std::byte{1});
    CHECK(read_npz(folder.write("one.npz", zip_bytes({{"first.npy", kFirst}}, packed)), "").shape ==
          first.shape);
  }
}

TEST_CASE("archives without the array, and broken ones, are refused with a reason") {
  const ScratchFolder folder;
  const std::string good = zip_bytes({{"first.npy", kFirst}, {"second.npy", kSecond}}, true);
  CHECK(complaint(folder, good, "") ==
        ": the archive has 2 arrays, 'first', 'second' (choose one with ,array=NAME)");
  CHECK(complaint(folder, good, "frist") == ": the archive has no array 'frist' (did you mean 'first'?)");
  CHECK(complaint(folder, good, "x") == ": the archive has no array 'x' (it has 'first', 'second')");
  CHECK(complaint(folder, zip_bytes({}, false), "x") == ": the archive has no arrays");
  CHECK(complaint(folder, "", "x") == ": the file is empty");
  CHECK(complaint(folder, "text", "x") == ": not a zip archive");
  CHECK(complaint(folder, good.substr(0, good.size() - 1), "first") == ": the zip archive is cut off");
  CHECK(complaint(folder, good.substr(4), "first").find(": the zip archive is") == 0);
  CHECK(complaint(folder, zip_bytes({{"a.npy", "text"}}, true), "a") == ", array a: not a .npy file");
  // A byte of the packed data: the checksum, or the data themselves, tell.
  std::string damaged = good;
  damaged[60] = static_cast<char>(damaged[60] ^ 1);
  CHECK(complaint(folder, damaged, "first") != "");
  // The directory promises more than the data hold.
  std::string bomb = zip_bytes({{"a.npy", kSecond}}, true);
  const size_t entry = bomb.find("PK\1\2");
  for (size_t i = 24; i < 28; ++i) bomb[entry + i] = '\x7f';
  CHECK(complaint(folder, bomb, "a") ==
        ", array a: the archive promises 2139062143 bytes, more than its data can hold");
}

}  // namespace mtfc::npz_test
