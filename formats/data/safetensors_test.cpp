#include "formats/data/safetensors.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/diagnostics/error.h"
#include "formats/json/mapped_file.h"

namespace mtfc::safetensors_test {
namespace {

namespace fs = std::filesystem;

class ScratchFile {
 public:
  ScratchFile() : path_(fs::temp_directory_path() / fmt::format("mtfc_safetensors_test_{}", getpid())) {}
  ~ScratchFile() { fs::remove(path_); }
  std::string path() const { return path_.string(); }
  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }

 private:
  fs::path path_;
};

std::string with_length(const std::string& header, uint64_t length) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(length >> 8 * i & 0xFF);
  return bytes + header;
}

std::string file_of(const std::string& header, size_t elements) {
  return with_length(header, header.size()) + std::string(elements, 'x');
}

// Returns the error for these bytes, without the file's name.
std::string refusal(const std::string& bytes) {
  const ScratchFile file;
  file.write(bytes);
  try {
    read_safetensors(file.path());
  } catch (const RunError& error) {
    const std::string text = error.what(), prefix = file.path() + ": ";
    REQUIRE(text.starts_with(prefix));
    return text.substr(prefix.size());
  }
  return "";
}

std::string entry(const std::string& name, const std::string& offsets, const std::string& shape = "[2]") {
  return fmt::format(R"("{}":{{"dtype":"F32","shape":{},"data_offsets":{}}})", name, shape, offsets);
}

}  // namespace

TEST_CASE("what is planned is read back: places, types, empty tensors and scalars") {
  const SafetensorsPlan plan = plan_safetensors({{"flag", StoredType::kBool, {3}},
                                                 {"w/1", StoredType::kF32, {3, 2}},
                                                 {"é\"", StoredType::kI32, {}},
                                                 {"none", StoredType::kF64, {0}},
                                                 {"half", StoredType::kF16, {3}},
                                                 {"step", StoredType::kI64, {}}},
                                                {{"format", "mtfc"}});
  REQUIRE(plan.header.size() % 8 == 0);
  std::string bytes =
      plan.header + std::string(static_cast<size_t>(plan.file_bytes) - plan.header.size(), '\0');
  for (const TensorPlace& place : plan.places) {
    CHECK(place.offset % size_of(place.type) == 0);
    if (place.bytes() > 0) bytes[static_cast<size_t>(place.offset)] = place.name[0];
  }
  const ScratchFile file;
  file.write(bytes);
  const Safetensors found = read_safetensors(file.path());
  CHECK(found.metadata == std::map<std::string, std::string>{{"format", "mtfc"}});
  REQUIRE(found.tensors.size() == 6);
  for (const TensorPlace& place : plan.places) {
    const StoredArray& array = found.tensors.at(place.name);
    CHECK(to_string(array.type) == to_string(place.type));
    CHECK(array.shape == place.shape);
    if (place.bytes() > 0) CHECK(static_cast<char>(*array.data) == place.name[0]);
  }
  CHECK(found.tensors.at("w/1").shape == std::vector<int64_t>{3, 2});
  CHECK(found.tensors.at("w/1").file == file.path() + ": 'w/1'");
}

TEST_CASE("a header of other projects is read: padding, any order, all types") {
  const ScratchFile file;
  const std::string header = R"({"b":{"data_offsets":[4,6],"dtype":"BF16","shape":[1]},)"
                             R"("a":{"shape":[2,1],"dtype":"F16","data_offsets":[0,4]}}    )";
  file.write(file_of(header, 6));
  const Safetensors found = read_safetensors(file.path());
  CHECK(found.tensors.at("b").type == StoredType::kBF16);
  CHECK(found.tensors.at("b").data - found.tensors.at("a").data == 4);
  CHECK(found.tensors.at("a").type == StoredType::kF16);
}

TEST_CASE("tensors of types that can't be read don't keep the others from being read") {
  const ScratchFile file;
  file.write(file_of(
      "{" + entry("w", "[0,8]") + R"(,"w.scale":{"dtype":"F8_E5M2","shape":[3],"data_offsets":[8,11]}})",
      11));
  const Safetensors found = read_safetensors(file.path());
  CHECK(found.tensors.size() == 1);
  CHECK(found.tensors.count("w") == 1);
  CHECK(
      found.unreadable ==
      std::map<std::string, std::string>{
          {"w.scale", file.path() + ": the .safetensors header says that 'w.scale' has elements of type "
                                    "'F8_E5M2', which can't be read (BOOL U8 I8 U16 I16 U32 I32 U64 I64 F16 "
                                    "BF16 F32 F64 F8_E4M3 can)"}});
}

TEST_CASE("null in the place of the metadata is no metadata") {
  const ScratchFile file;
  file.write(file_of(R"({"__metadata__":null,)" + entry("w", "[0,8]") + "}", 8));
  const Safetensors found = read_safetensors(file.path());
  CHECK(found.metadata.empty());
  CHECK(found.tensors.size() == 1);
}

TEST_CASE("an index names files of its own folder only") {
  const ScratchFile file;
  const auto files = [&](const std::string& name) {
    file.write(R"({"weight_map":{"w":")" + name + R"("}})");
    return safetensors_files(file.path());
  };
  const fs::path folder = fs::path(file.path()).parent_path();
  CHECK(files("a.safetensors") == std::vector<std::string>{folder / "a.safetensors"});
  CHECK(files("part/../b") == std::vector<std::string>{folder / "part/../b"});
  for (const char* name : {"../a", "/a", "..", "part/../../a", "./../a"}) {
    CAPTURE(name);
    CHECK_THROWS_WITH(files(name),
                      fmt::format("{}: \"weight_map\" gives the file '{}' for 'w', which is not in the "
                                  "folder of the index",
                                  file.path(), name)
                          .c_str());
  }
}

TEST_CASE("broken files are refused with the reason") {
  const std::string head = "the .safetensors header ";
  CHECK(refusal("") == "the file is empty");
  CHECK(refusal("abc") == "not a .safetensors file, but a text");
  CHECK(refusal("\x01\x02") == "not a .safetensors file");
  CHECK(refusal(with_length("{}", uint64_t{1} << 60)) ==
        head +
            "has 1152921504606846976 bytes, more than the 100000000 allowed, or this is not a .safetensors "
            "file");
  CHECK(refusal(with_length("{}", 10)) ==
        head + "is cut off: it has 10 bytes, but the file has only 2 for it");
  CHECK(refusal(file_of("[]", 0)) == "not a .safetensors file: its header is not a JSON object");
  CHECK(refusal(file_of("{", 0)) == head + "is not valid JSON at its byte 2");
  CHECK(refusal(file_of(R"({"w":1})", 0)) == head + "has 1 under 'w', where a tensor belongs");
  CHECK(refusal(file_of(R"({"__metadata__":{"a":1}})", 0)) ==
        head + "has 1 under 'a' of __metadata__, where a string belongs");
  CHECK(refusal(file_of(R"({"w":{"dtype":"F32"}})", 0)) == head + "says that 'w' has no 'shape'");
  CHECK(refusal(file_of(R"({"w":{"kind":"F32"}})", 0)) == head + "has the unknown key 'kind' for 'w'");
  CHECK(refusal(file_of(R"({"w":{"dtype":"F8_E5M2","shape":[1],"data_offsets":[1,0]}})", 1)) ==
        head + "says that 'w' does not lie between two ascending offsets");
  CHECK(refusal(file_of(R"({"w":null})", 0)) == head + "has null under 'w', where a tensor belongs");
  CHECK(refusal(file_of(R"({"__metadata__":{"a":null}})", 0)) ==
        head + "has null under 'a' of __metadata__, where a string belongs");
  CHECK(refusal(file_of("{" + entry("w", "[0,-8]") + "}", 8)) ==
        head + "has -8 in 'data_offsets' of 'w', where it does not belong");
  CHECK(refusal(file_of("{" + entry("w", "[8,0]") + "}", 8)) ==
        head + "says that 'w' does not lie between two ascending offsets");
  CHECK(refusal(file_of("{" + entry("w", "[0,9]") + "}", 9)) ==
        head + "says that 'w' has 8 bytes of elements by its shape and 9 by its offsets");
  CHECK(refusal(file_of("{" + entry("w", "[0,8]", "[4611686018427387904,4]") + "}", 8)) ==
        head + "says that 'w' has impossibly large sizes");
  CHECK(refusal(file_of("{" + entry("w", "[0,8]", "[9223372036854775808]") + "}", 8)) ==
        head + "has the size 9223372036854775808 for 'w', which is too large");
  CHECK(refusal(file_of("{" + entry("w", "[0,9223372036854775808]") + "}", 8)) ==
        head + "has the offset 9223372036854775808 for 'w', which is too large");
  CHECK(refusal(file_of("{" + entry("a", "[0,8]") + "," + entry("b", "[4,12]") + "}", 12)) ==
        head + "lets 'a' and 'b' overlap");
  CHECK(refusal(file_of("{" + entry("a", "[0,8]") + "," + entry("b", "[12,20]") + "}", 20)) ==
        head + "leaves bytes 8 to 12 before 'b' to no tensor");
  CHECK(refusal(file_of("{" + entry("a", "[0,8]") + "," + entry("a", "[8,16]") + "}", 16)) ==
        head + "has 'a' twice");
  CHECK(refusal(file_of("{" + entry("w", "[0,8]") + "}", 7)) ==
        head + "promises 8 bytes of elements, but the file has 7");
  CHECK(refusal(file_of("{" + entry("w", "[0,8]") + "}", 9)) ==
        head + "promises 8 bytes of elements, but the file has 9");
  CHECK(refusal(file_of(std::string("{}\0 ", 4), 0)) == head + "has a zero byte at 2");
  CHECK_THROWS_AS(read_safetensors("/nowhere.safetensors"), UnreadableFile);
}

}  // namespace mtfc::safetensors_test
