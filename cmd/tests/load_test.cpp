// --load of whole files and --map: names and shapes of other projects, half precision, and mismatches.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "core/testing/scratch_folder.h"
#include "formats/data/safetensors.h"

namespace mtfc::load_test {
namespace {

namespace fs = std::filesystem;

const char* const kModel = R"({
  "mtfc": 1,
  "params": {"trains": 0},
  "dims": {"model": 4, "three": 3, "heads": 2, "kv": 2},
  "variables": {
    "layer_0/qkv": {"dims": ["model", "three", "heads", "kv"], "init": 0},
    "layer_0/bias": {"dims": ["three", "heads", "kv"], "init": 0},
    "out": {"dims": ["heads", "kv", "model"], "init": 0}
  },
  "ops": [{"out": "loss", "op": "reduce_sum", "in": {"op": "einsum", "in": ["layer_0/qkv", "out", "layer_0/bias"], "dims": []}}],
  "train": {"loss": "loss", "optimizer": {"kind": "adam", "lr": 0.1}}
}
)";

struct Tensor {
  std::string name, type;
  std::vector<int64_t> shape;
  std::string bytes;
};

// Doesn't use plan_safetensors, which has only the model's types.
std::string file_of(const std::vector<Tensor>& tensors) {
  std::string header = "{", data;
  for (const Tensor& tensor : tensors) {
    std::string shape;
    for (const int64_t size : tensor.shape) shape += fmt::format("{}{}", shape.empty() ? "" : ",", size);
    header += fmt::format(R"({}"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                          header.size() > 1 ? "," : "", tensor.name, tensor.type, shape, data.size(),
                          data.size() + tensor.bytes.size());
    data += tensor.bytes;
  }
  header += "}";
  std::string length;
  for (int i = 0; i < 8; ++i) length += static_cast<char>(header.size() >> 8 * i & 0xFF);
  return length + header + data;
}

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::vector<float> counted(size_t count, float first = 0) {
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i) values.push_back(first + static_cast<float>(i));
  return values;
}

Tensor floats(const std::string& name, const std::vector<int64_t>& shape, float first = 0) {
  size_t count = 1;
  for (const int64_t size : shape) count *= static_cast<size_t>(size);
  return {name, "F32", shape, bytes_of(counted(count, first))};
}

struct Folder : ScratchFolder {
  Folder() { write("model.json", kModel); }
  // Returns the exit code and messages of a run that takes no step and saves its variables as `ck`.
  std::string loaded(const std::string& arguments) const {
    fs::remove_all(path / "ck");
    const int status =
        std::system(fmt::format("cd '{}'; {} run model.json -q --steps 0 --checkpoint ck {} 2>err "
                                "</dev/null",
                                path.string(), MTFC_BINARY, arguments)
                        .c_str());
    return fmt::format("exit {}: {}", WIFEXITED(status) ? WEXITSTATUS(status) : -1, read("err"));
  }
  std::vector<float> values(const std::string& name) const {
    const Safetensors file = read_safetensors(path / "ck/step_00000000/variables.safetensors");
    const StoredArray& array = file.tensors.at(name);
    int64_t count = 1;
    for (const int64_t size : array.shape) count *= size;
    const float* data = reinterpret_cast<const float*>(array.data);
    return {data, data + count};
  }
};

std::string refusal(const std::string& text) {
  return "exit 1: mtfc: error: " + text + "\n";
}

const std::vector<Tensor> kOthers = {floats("h.0.c_attn.weight", {4, 12}),
                                     floats("h.0.c_attn.bias", {12}, 100), floats("h.0.mask", {1, 1}),
                                     floats("proj", {4, 4}, 200)};
const char* const kMap =
    " --map 'h.*.c_attn.weight=layer_*/qkv' --map 'h.*.c_attn.bias=layer_*/bias' --map 'h.*.mask=' --map "
    "proj=out";

}  // namespace

TEST_CASE("tensors of other names and merged dimensions are loaded under every layout") {
  const Folder folder;
  folder.write("w.safetensors", file_of(kOthers));
  folder.write("names.map",
               "# theirs = ours\nh.*.c_attn.weight = layer_*/qkv\nh.*.c_attn.bias=layer_*/bias\n"
               "h.*.mask=\nproj=out\n");
  for (const std::string mesh :
       {"", " --mesh a:2 --layout heads:a", " --mesh a:3,b:2 --layout three:a,kv:b --simulate"})
    for (const std::string& map : {std::string(kMap), std::string(" --map names.map")}) {
      CAPTURE(mesh);
      CHECK(folder.loaded("--load w.safetensors" + map + mesh) == "exit 0: ");
      CHECK(folder.values("layer_0/qkv") == counted(48));
      CHECK(folder.values("layer_0/bias") == counted(12, 100));
      CHECK(folder.values("out") == counted(16, 200));
      CHECK(folder.values("out/adam_m") == std::vector<float>(16, 0));
    }
}

TEST_CASE("f16 and bf16 are converted, also the values at their ends") {
  const Folder folder;
  // 1, -2, 65504, the smallest above 0, infinity; then 1, -2, the largest, the smallest, minus infinity.
  const std::vector<uint16_t> half = {0x3C00, 0xC000, 0x7BFF, 0x0001, 0x7C00, 0x0400,
                                      0x8000, 0x3555, 0,      0,      0,      0};
  std::vector<uint16_t> bfloat = {0x3F80, 0xC000, 0x7F7F, 0x0080, 0xFF80, 0x3EAB};
  bfloat.resize(16);
  folder.write("w.safetensors", file_of({{"layer_0/bias", "F16", {12}, bytes_of(half)},
                                         {"out", "BF16", {4, 4}, bytes_of(bfloat)},
                                         floats("layer_0/qkv", {4, 3, 4})}));
  CHECK(folder.loaded("--load w.safetensors") == "exit 0: ");
  std::vector<float> expected = {1, -2, 65504, 5.9604645e-8f, HUGE_VALF, 6.1035156e-5f, -0.0f, 0.33325195f, 0,
                                 0, 0,  0};
  CHECK(folder.values("layer_0/bias") == expected);
  expected = {1, -2, 3.3895314e38f, 1.1754944e-38f, -HUGE_VALF, 0.33398438f};
  expected.resize(16);
  CHECK(folder.values("out") == expected);
}

TEST_CASE("several files are one, and NAME=FILE.npy comes before them") {
  const Folder folder;
  folder.write("1.safetensors", file_of({kOthers[0], kOthers[2]}));
  folder.write("2.safetensors", file_of({kOthers[1], kOthers[3]}));
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (12,), }";
  folder.write("bias.npy", std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) + '\0' +
                               header + bytes_of(counted(12, 7)));
  CHECK(folder.loaded(std::string("--load 1.safetensors --load layer_0/bias=bias.npy --load 2.safetensors") +
                      kMap) == "exit 0: ");
  CHECK(folder.values("layer_0/qkv") == counted(48));
  CHECK(folder.values("layer_0/bias") == counted(12, 7));
  CHECK(folder.loaded(std::string("--load 1.safetensors --load 1.safetensors") + kMap) ==
        refusal("1.safetensors: 'h.0.c_attn.weight' and 1.safetensors: 'h.0.c_attn.weight' would both be "
                "'layer_0/qkv' of the model"));
}

TEST_CASE("what is missing, left over or of another shape is named") {
  const Folder folder;
  folder.write("w.safetensors", file_of(kOthers));
  CHECK(
      folder.loaded("--load w.safetensors") ==
      refusal("'w.safetensors' has no values for 'layer_0/qkv', 'layer_0/bias' and 'out' of the model (--map "
              "FROM=TO renames tensors of the file)"));
  CHECK(
      folder.loaded("--load w.safetensors --map 'h.*.c_attn.*=layer_*/*' --map weight=qkv") ==
      refusal("'w.safetensors' has no values for 'layer_0/qkv' and 'out' of the model (--map FROM=TO renames "
              "tensors of the file)"));
  std::vector<Tensor> tensors = {floats("layer_0/qkv", {4, 12}), floats("layer_0/bias", {12}),
                                 floats("out", {4, 4}), floats("layer_0/qvk", {2})};
  folder.write("w.safetensors", file_of(tensors));
  CHECK(folder.loaded("--load w.safetensors") ==
        refusal("'w.safetensors' has 'layer_0/qvk', for which the model has no variable (did you mean "
                "'layer_0/qkv'?; --map 'layer_0/qvk=' leaves a tensor out)"));
  tensors[3] = floats("out/adam_m", {4, 4});
  folder.write("w.safetensors", file_of(tensors));
  CHECK(folder.loaded("--load w.safetensors") ==
        refusal("'w.safetensors' has no values for 'layer_0/qkv/adam_m', 'layer_0/qkv/adam_v', "
                "'layer_0/bias/adam_m' and 3 more of the model (--map FROM=TO renames tensors of the file)"));
  CHECK(folder.loaded("--load w.safetensors --map '*/adam_*=' --map '*/*/adam_*='") == "exit 0: ");
  tensors = {floats("layer_0/qkv", {6, 8}), floats("layer_0/bias", {12}), floats("out", {4, 4})};
  folder.write("w.safetensors", file_of(tensors));
  CHECK(
      folder.loaded("--load w.safetensors --mesh a:2 --layout heads:a") ==
      refusal("w.safetensors: 'layer_0/qkv': an array of shape [6, 8] can't be loaded into 'layer_0/qkv' of "
              "shape [model=4, three=3, heads=2, kv=2]"));
  CHECK(folder.loaded("--load nowhere") ==
        refusal("cannot read the weights in 'nowhere': No such file or directory (one variable is loaded as "
                "NAME=FILE.npy)"));
  fs::create_directory(folder.path / "empty");
  CHECK(folder.loaded("--load empty") == refusal("there is no checkpoint in the folder 'empty'"));
}

TEST_CASE("a checkpoint loads into a model that keeps other optimizer state, and evaluates") {
  const Folder folder;
  folder.write("w.safetensors", file_of(kOthers));
  REQUIRE(folder.loaded(std::string("--load w.safetensors") + kMap) == "exit 0: ");
  fs::rename(folder.path / "ck", folder.path / "from");
  CHECK(folder.loaded("--load from --optimizer sgd") == "exit 0: ");
  CHECK(folder.values("out") == counted(16, 200));
  CHECK(folder.loaded("--load from/step_00000000") == "exit 0: ");
  CHECK(folder.loaded("--load from/step_00000000/variables.safetensors") == "exit 0: ");
  const auto evaluated = [&](const std::string& arguments) {
    REQUIRE(
        std::system(fmt::format("cd '{}'; {} run model.json --evaluate --load from --output loss=- {} >out "
                                "2>err </dev/null",
                                folder.path.string(), MTFC_BINARY, arguments)
                        .c_str()) == 0);
    return folder.read("out");
  };
  CHECK(evaluated("").size() > 100);
  CHECK(evaluated("--mesh a:2 --layout model:a").size() > 100);
}

}  // namespace mtfc::load_test
