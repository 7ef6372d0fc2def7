#include "runtime/data/array_file.h"

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/diagnostics/error.h"
#include "core/testing/scratch_folder.h"
#include "runtime/comm/comm_lockstep.h"
#include "runtime/testing/elements.h"

namespace mtfc::array_file_test {
namespace {

// Every device's slice of the tensor whose elements are their own global positions.
struct Slices {
  std::vector<std::vector<float>> data;
  std::vector<LocalShard> shards;
  Slices(const TensorType& type, const Sharding& sharding, const LockstepComm& comm) {
    data.resize(comm.devices().size());
    for (size_t i = 0; i < data.size(); ++i) {
      const Box box = local_box(type.dims, sharding, comm.mesh(), comm.devices()[i]);
      for (const int64_t index : global_indices(type.dims, box)) data[i].push_back(static_cast<float>(index));
      shards.push_back({type, box, reinterpret_cast<std::byte*>(data[i].data())});
    }
  }
};

const Mesh kMesh({{"r", 2}, {"c", 3}});
const TensorType kType{DType::kF32, {{"a", 5}, {"b", 7}}};

TEST_CASE("a tensor is written whole, whatever its sharding") {
  const ScratchFolder folder;
  Processes processes = Processes::alone();
  LockstepComm comm(kMesh, processes);
  const std::string path = folder.path / "t.npy";
  const std::string header = "header";
  for (const Sharding& sharding : {replicated(2), Sharding{{{0}, {1}}, {}}, Sharding{{{}, {1, 0}}, {}}}) {
    const Slices slices(kType, sharding, comm);
    write_array(comm, path, header, sharding, slices.shards);
    const std::string bytes = contents(path);
    REQUIRE(bytes.size() == header.size() + 35 * sizeof(float));
    CHECK(bytes.substr(0, header.size()) == header);
    for (size_t i = 0; i < 35; ++i) {
      float value;
      std::memcpy(&value, bytes.data() + header.size() + i * sizeof value, sizeof value);
      CHECK(value == static_cast<float>(i));
    }
  }
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path), {}) == 1);
}

TEST_CASE("a file that can't be written leaves nothing behind") {
  const ScratchFolder folder;
  Processes processes = Processes::alone();
  LockstepComm comm(kMesh, processes);
  const Slices slices(kType, replicated(2), comm);
  CHECK_THROWS_AS(write_array(comm, folder.path / "missing" / "t.npy", "", replicated(2), slices.shards),
                  RunError);
  // A folder of the final name can't be replaced.
  std::filesystem::create_directory(folder.path / "t.npy");
  CHECK_THROWS_AS(write_array(comm, folder.path / "t.npy", "", replicated(2), slices.shards), RunError);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path), {}) == 1);
}

TEST_CASE("an array is loaded into the slices of a tensor of its shape") {
  Processes processes = Processes::alone();
  LockstepComm comm(kMesh, processes);
  std::vector<double> values(35);
  for (size_t i = 0; i < 35; ++i) values[i] = static_cast<double>(i);
  StoredArray array{"w.npy", StoredType::kF64, false,
                    {5, 7},  nullptr,          reinterpret_cast<const std::byte*>(values.data())};
  const Sharding sharding{{{0}, {1}}, {}};
  Slices slices(kType, sharding, comm);
  const std::vector<std::vector<float>> expected = slices.data;
  for (size_t i = 0; i < slices.shards.size(); ++i) {
    std::fill(slices.data[i].begin(), slices.data[i].end(), -1.0f);
    load_array(array, "w", slices.shards[i]);
  }
  CHECK(slices.data == expected);
  array.shape = {7, 5};
  CHECK_THROWS_WITH_AS(
      load_array(array, "w", slices.shards[0]),
      "w.npy: an array of shape [7, 5] can't be loaded into 'w' of shape [a=5, b=7] (it fits if it "
      "is transposed: give the model's variable the dimensions [\"b\", \"a\"], which changes no "
      "result, or transpose the array in the file)",
      RunError);
}

TEST_CASE("only an array with all dimensions of a tensor in another order is called transposed") {
  const TensorType heads{DType::kF32, {{"d_model", 32}, {"heads", 2}, {"d_kv", 16}}};
  const auto advice = [&](const std::vector<int64_t>& shape) -> std::string {
    try {
      require_loadable({"w", StoredType::kF32, false, shape, nullptr, nullptr}, "w", heads);
    } catch (const ShapeMismatch& error) {
      CHECK(std::string(error.what()).starts_with(error.problem));
      return std::string(error.what()).substr(error.problem.size());
    }
    return "fits";
  };
  const auto transposed = [](const std::string& names) {
    return " (it fits if it is transposed: give the model's variable the dimensions [" + names +
           "], which changes no result, or transpose the array in the file)";
  };
  CHECK(advice({32, 32}) == "fits");
  CHECK(advice({2, 16, 32}) == transposed(R"("heads", "d_kv", "d_model")"));
  CHECK(advice({32, 16, 2}) == transposed(R"("d_model", "d_kv", "heads")"));
  CHECK(advice({16, 64}) == transposed(R"("d_kv", "d_model", "heads")"));
  // These arrays have as many elements as the tensor, but other sizes.
  CHECK(advice({32, 4, 8}) == " (heads is 4 in the file, not 2; d_kv is 8 in the file, not 16)");
  CHECK(advice({4, 8, 32}) ==
        " (d_model is 4 in the file, not 32; heads is 8 in the file, not 2; d_kv is 32 in the file, not 16)");
  CHECK(advice({8, 4, 8, 4}) == "");
  // Of other numbers of elements.
  CHECK(advice({64, 2, 16}) == " (d_model is 64 in the file, not 32)");
  CHECK(advice({64}) == "");
}

}  // namespace
}  // namespace mtfc::array_file_test
