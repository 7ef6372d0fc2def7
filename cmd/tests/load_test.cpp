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

#include "core/testing/checkout.h"
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
                                path.string(), kTestedProgram, arguments)
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
  CHECK(folder.loaded("--load w.safetensors --nan-ok") == "exit 0: ");  // there are infinities among them
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
  CHECK(folder.loaded("--load w.safetensors") ==
        refusal(
            "'w.safetensors' has no values for 'layer_0/qkv', 'layer_0/bias' and 'out' of the model, but has "
            "'h.0.mask', 'proj', 'h.0.c_attn.bias' and 'h.0.c_attn.weight' (--map FROM=TO renames tensors of "
            "the file)"));
  CHECK(
      folder.loaded("--load w.safetensors --map 'h.*.c_attn.*=layer_*/*'") ==
      refusal(
          "'w.safetensors' has no values for 'layer_0/qkv' and 'out' of the model, but has 'layer_0/weight', "
          "'h.0.mask' and 'proj' (--map FROM=TO renames tensors of the file)"));
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
  CHECK(folder.loaded("--load w.safetensor") ==
        refusal("cannot read the weights in 'w.safetensor': No such file or directory (did you mean "
                "'w.safetensors'?)"));
  fs::create_directory(folder.path / "empty");
  CHECK(folder.loaded("--load empty") ==
        refusal("there is neither a checkpoint nor a model.safetensors in the folder 'empty'"));
}

TEST_CASE("a pattern of --map that renames nothing is a mistake") {
  const Folder folder;
  folder.write("w.safetensors", file_of(kOthers));
  const std::string load = std::string("--load w.safetensors") + kMap;
  CHECK(folder.loaded(load + " --map 'h.*.c_atn.bias=layer_*/bias'") ==
        "exit 2: mtfc: error: --map: 'h.*.c_atn.bias=layer_*/bias' renames nothing: no tensor is called "
        "'h.*.c_atn.bias' (the file has 'h.0.c_attn.bias', 'h.0.c_attn.weight', 'h.0.mask' and 'proj')\n");
  CHECK(folder.loaded(load + " --map '*oj=out'") ==
        "exit 2: mtfc: error: --map: '*oj=out' renames nothing: earlier patterns match the same tensors (the "
        "first "
        "pattern that matches a tensor counts)\n");
  CHECK(folder.loaded(load + " --map 'h.*.masked='") == "exit 0: ");  // leaves out what is not there
  folder.write("some.map", "transformer.h.*.ln=layer_*/ln\nproj=out\n");
  CHECK(folder.loaded(load.substr(0, load.rfind(" --map")) + " --map some.map") == "exit 0: ");
  folder.write("other.map", "transformer.h.*.ln=layer_*/ln\nh.*.masked=\n");
  CHECK(folder.loaded(load + " --map other.map")
            .starts_with(
                "exit 2: mtfc: error: --map other.map: none of its patterns matches a tensor of the file "
                "(the file has 'h.0."));
}

TEST_CASE("a part of the variables is loaded if the user says so, and the run says what the others are") {
  const std::string model = std::string(kSourceFolder) + "/testdata/families/llama";
  const auto run = [&](const std::string& more) {
    return outcome_of(
        fmt::format("{} run {} --load {} --set batch=1 --set length=4 --evaluate --map 'lm_head.weight=' "
                    "--map 'model.norm.weight=other' {} 2>&1 </dev/null",
                    kTestedProgram, model, model, more));
  };
  const Outcome strict = run(""), partly = run("--load-partly");
  CHECK(strict.code == 1);
  CHECK(strict.text.find("has no values for 'model/norm/scale' and 'model/output/weight' of the model") !=
        std::string::npos);
  CHECK(partly.code == 0);
  CHECK(partly.text.find("--load-partly: 2 variables keep their initial values: 'model/norm/scale' and "
                         "'model/output/weight'; a tensor is left out: 'other'\n") != std::string::npos);
  CHECK(run("--load-partly -q").text.empty());
  // A tensor that is there must fit.
  CHECK(run("--load-partly --set d_ff=45").code == 1);
}

TEST_CASE("a tensor of a type that can't be read is left out by --map, or else refused") {
  const Folder folder;
  std::vector<Tensor> tensors = kOthers;
  tensors.push_back({"h.0.c_attn.scale", "F8_E5M2", {4}, "abcd"});
  folder.write("w.safetensors", file_of(tensors));
  CHECK(
      folder.loaded(std::string("--load w.safetensors") + kMap) ==
      refusal(
          "w.safetensors: the .safetensors header says that 'h.0.c_attn.scale' has elements of type "
          "'F8_E5M2', which can't be read (BOOL U8 I8 U16 I16 U32 I32 U64 I64 F16 BF16 F32 F64 F8_E4M3 can) "
          "(--map 'h.0.c_attn.scale=' leaves the tensor out)"));
  for (const char* left_out : {" --map 'h.*.c_attn.scale='", " --map 'h.0.c_attn.scale='"}) {
    CHECK(folder.loaded(std::string("--load w.safetensors") + kMap + left_out) == "exit 0: ");
    CHECK(folder.values("out") == counted(16, 200));
  }
}

TEST_CASE("an index of several files is read, and other files are called what they are") {
  const Folder folder;
  fs::create_directory(folder.path / "dir");
  folder.write("dir/a.safetensors", file_of({kOthers[0], kOthers[2]}));
  folder.write("dir/b.safetensors", file_of({kOthers[1], kOthers[3]}));
  folder.write("dir/model.safetensors.index.json",
               R"({"metadata": {"total_size": 1}, "weight_map": {"h.0.c_attn.weight": "a.safetensors",
                   "h.0.mask": "a.safetensors", "h.0.c_attn.bias": "b.safetensors", "proj": "b.safetensors"}})");
  for (const char* path : {"dir/model.safetensors.index.json", "dir"}) {
    CAPTURE(path);
    CHECK(folder.loaded(fmt::format("--load {}{} --mesh a:2 --layout heads:a", path, kMap)) == "exit 0: ");
    CHECK(folder.values("layer_0/qkv") == counted(48));
    CHECK(folder.values("out") == counted(16, 200));
  }
  fs::remove(folder.path / "dir/b.safetensors");
  CHECK(folder.loaded("--load dir") == refusal("cannot read the weights in 'dir/b.safetensors', which the "
                                               "index 'dir/model.safetensors.index.json' "
                                               "names: No such file or directory"));
  const auto called = [&](const std::string& bytes, const std::string& what) {
    CAPTURE(what);
    folder.write("file", bytes);
    CHECK(folder.loaded("--load file") == refusal("file: " + what));
  };
  called("{\"a\": 1}", "a JSON file without a \"weight_map\", so that it is no index of .safetensors files");
  called("{\"weight_map\": {\"a\": 1}}", "\"weight_map\" gives no file for 'a'");
  called("{\"weight_map\": {\"a\": \"../a\"}}",
         "\"weight_map\" gives the file '../a' for 'a', which is not in the folder of the index");
  called("{\"weight_map\": {}}", "\"weight_map\" names no files");
  called("epoch,loss\n1,2.5\n", "not a .safetensors file, but a text");
  called(
      std::string("PK\x03\x04\0\0\x08\x08\0\0archive/data.pkl", 25),
      "not a .safetensors file, but a zip archive, as PyTorch's .bin and .pt and NumPy's .npz are: save its "
      "tensors as .safetensors");
  called("\x80\x02}q", "not a .safetensors file, but a pickle of PyTorch: save its tensors as .safetensors");
  called(std::string("\x93NUMPY\x01\0v\0{'descr'", 18),
         "not a .safetensors file, but an array of NumPy, which --load NAME=FILE.npy takes for one variable");
  // A header of 123 bytes begins with the character { as well.
  std::string tensors = file_of({floats("w", {2})});
  const std::string header = tensors.substr(8, tensors.size() - 16);
  const std::string padded = header + std::string(123 - header.size(), ' ');
  folder.write("file", "{" + std::string(7, '\0') + padded + tensors.substr(tensors.size() - 8));
  CHECK(folder.loaded("--load file").find("'file' has no values for") != std::string::npos);
}

TEST_CASE("a transposed array is told from one of another shape") {
  const Folder folder;
  folder.write("w.safetensors", file_of({floats("layer_0/qkv", {4, 12}), floats("layer_0/bias", {4, 3}),
                                         floats("out", {4, 4})}));
  CHECK(
      folder.loaded("--load w.safetensors") ==
      refusal(
          "w.safetensors: 'layer_0/bias': an array of shape [4, 3] can't be loaded into 'layer_0/bias' of "
          "shape [three=3, heads=2, kv=2] (it fits if it is transposed: give the model's variable the "
          "dimensions [\"heads\", \"kv\", \"three\"], which changes no result, or transpose the array in the "
          "file)"));
}

TEST_CASE("an array of other sizes says which --set gives them to the model") {
  const Folder folder;
  const std::string problem =
      "'layer_0/qkv': an array of shape [4, 3, 3, 8] can't be loaded into 'layer_0/qkv' of shape [model=4, "
      "three=3, heads=4, kv=6] (heads is 3 in the file, not 4; kv is 8 in the file, not 6: --set heads=3 "
      "--set "
      "kv=8)";
  const std::string of_model = " --set heads=4 --set kv=6", of_file = " --set heads=3 --set kv=8";
  folder.write("w.safetensors", file_of({floats("layer_0/qkv", {4, 3, 3, 8}),
                                         floats("layer_0/bias", {3, 3, 8}), floats("out", {3, 8, 4})}));
  CHECK(folder.loaded("--load w.safetensors" + of_model) == refusal("w.safetensors: " + problem));
  CHECK(folder.loaded("--load w.safetensors" + of_file) == "exit 0: ");
  fs::rename(folder.path / "ck", folder.path / "from");
  CHECK(folder.loaded("--load from" + of_model)
            .ends_with(refusal("from/step_00000000/variables.safetensors: " + problem).substr(8)));
  // The checkpoint tells that its sizes are others, though transposing it would make it fit.
  REQUIRE(folder.loaded("--set model=2 --set kv=4") == "exit 0: ");
  fs::rename(folder.path / "ck", folder.path / "small");
  const std::string refused = folder.loaded("--load small --set model=4 --set kv=2");
  CAPTURE(refused);
  CHECK(refused.find(
            "(model is 2 in the file, not 4; kv is 4 in the file, not 2: --set model=2 --set kv=4)\n") !=
        std::string::npos);
  CHECK(refused.find("transpose") == std::string::npos);
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
                                folder.path.string(), kTestedProgram, arguments)
                        .c_str()) == 0);
    return folder.read("out");
  };
  CHECK(evaluated("").size() > 100);
  CHECK(evaluated("--mesh a:2 --layout model:a").size() > 100);
}

}  // namespace mtfc::load_test
