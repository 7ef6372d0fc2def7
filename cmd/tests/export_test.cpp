// Exports published models, and compares the folders with those that they came from.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "cmd/files/files.h"
#include "cmd/testing/published_models.h"
#include "cmd/testing/shell.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "formats/data/safetensors.h"

namespace mtfc::export_test {
namespace {

namespace fs = std::filesystem;
using JsonDocument = nlohmann::json;

const std::string kFamilies = families_folder();

Outcome mtfc(const std::string& arguments) {
  return outcome_of(fmt::format("{} {} 2>&1 </dev/null", kTestedProgram, arguments));
}

struct Tensor {
  StoredType type;
  std::vector<int64_t> shape;
  std::string bytes;
  bool operator==(const Tensor&) const = default;
};

// The tensors of a folder, by name.
std::map<std::string, Tensor> tensors_of(const std::string& folder) {
  const std::string index = folder + "/model.safetensors.index.json";
  std::map<std::string, Tensor> tensors;
  for (const std::string& path : safetensors_files(fs::exists(index) ? index : folder + "/model.safetensors"))
    for (const auto& [name, array] : read_safetensors(path).tensors) {
      const auto bytes = static_cast<size_t>(element_count(array.shape) * size_of(array.type));
      tensors[name] = {array.type, array.shape,
                       std::string(reinterpret_cast<const char*>(array.data), bytes)};
    }
  return tensors;
}

JsonDocument config_of(const std::string& folder) {
  return JsonDocument::parse(read_text(folder + "/config.json", "config.json"));
}

// Keys that config.json may lack, because files without them mean the same.
JsonDocument without_dtype(JsonDocument config) {
  config.erase("torch_dtype");
  config.erase("dtype");
  return config;
}

// The tensors of a published model that its map leaves out: those of other heads, and copies.
std::set<std::string> left_out(const std::string& folder) {
  std::set<std::string> names;
  std::istringstream lines(mtfc("weights " + folder).text);
  for (std::string line; std::getline(lines, line);)
    if (line.ends_with("(left out)")) names.insert(line.substr(0, line.find(' ')));
  return names;
}

void require_same(const std::string& folder, const std::string& original) {
  const auto found = tensors_of(folder), wanted = tensors_of(original);
  const std::set<std::string> copies = left_out(original);
  for (const auto& [name, tensor] : wanted) {
    CAPTURE(name);
    if (copies.contains(name)) continue;
    REQUIRE(found.contains(name));
    CHECK(found.at(name).shape == tensor.shape);
    CHECK(found.at(name) == tensor);
  }
  for (const auto& [name, tensor] : found) {
    CAPTURE(name);
    CHECK(wanted.contains(name));
  }
}

}  // namespace

TEST_CASE(
    "exports of published models have the tensors and the config.json that these came with, bit for bit") {
  REQUIRE(published_models().size() > 10);
  for (const std::string& name : published_models()) {
    CAPTURE(name);
    const ScratchFolder folder;
    const std::string original = kFamilies + name, copy = folder / "copy";
    const Outcome outcome =
        mtfc(fmt::format("export {} -o {} --export-dtype f32 --shard-size 40000", original, copy));
    CAPTURE(outcome.text);
    REQUIRE(outcome.code == 0);
    CHECK(fs::exists(copy + "/model.safetensors.index.json"));
    require_same(copy, original);
    CHECK(without_dtype(config_of(copy)) == without_dtype(config_of(original)));
    CHECK(config_of(copy).at(config_of(original).contains("dtype") ? "dtype" : "torch_dtype") == "float32");
  }
}

TEST_CASE(
    "a run on several ranks exports what it has trained, and mtfc export the same from its checkpoint") {
  const ScratchFolder folder;
  const std::string model = folder / "llama.json", original = kFamilies + "llama";
  REQUIRE(mtfc(fmt::format("import {} -o {}", original, model)).code == 0);
  const std::string run = fmt::format(
      "run {} --load {} --set batch=4 --set length=8 --steps 3 -q --mesh data:2,model:2 --layout "
      "megatron,zero:3 --set eps=0.001 --checkpoint {} --export {}",
      model, original, folder / "ck", folder / "trained");
  const Outcome trained = mtfc(run);
  CAPTURE(trained.text);
  REQUIRE(trained.code == 0);
  REQUIRE(mtfc(fmt::format("export {} --load {} -o {}", model, folder / "ck", folder / "again")).code == 0);
  require_same(folder / "again", folder / "trained");
  CHECK(config_of(folder / "again") == config_of(folder / "trained"));
  CHECK(config_of(folder / "again").at("rms_norm_eps") == 0.001);
  CHECK(tensors_of(folder / "trained") != tensors_of(original));
  // It is read like any published model, and continues as the checkpoint does.
  const auto losses = [&](const std::string& of) {
    return mtfc(fmt::format("run {} --evaluate -q --set batch=4 --set length=8 --seed 5", of)).text;
  };
  CHECK(losses(folder / "trained --load " + (folder / "trained")) ==
        losses(model + " --load " + (folder / "ck")));
}

TEST_CASE("a damaged checkpoint is not exported") {
  const ScratchFolder folder;
  const std::string original = kFamilies + "llama", file = folder / "ck/step_00000001/variables.safetensors";
  REQUIRE(mtfc(fmt::format("run {} --set batch=1 --set length=4 -q --checkpoint {}", original, folder / "ck"))
              .code == 0);
  std::string bytes = read_text(file, "checkpoint");
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  const JsonDocument header = JsonDocument::parse(bytes.substr(sizeof length, length));
  bytes[sizeof length + length + header.at("model/norm/scale").at("data_offsets").at(0).get<size_t>()] ^= 1;
  std::ofstream(file, std::ios::binary) << bytes;
  const Outcome outcome =
      mtfc(fmt::format("export {} --load {} -o {}", original, folder / "ck", folder / "out"));
  CHECK(outcome.code == 1);
  CHECK(outcome.text.find("is damaged: its contents differ from its checksum") != std::string::npos);
  CHECK_FALSE(fs::exists(folder / "out"));
}

TEST_CASE("bf16 weights stay the same bits, and f16 the nearest numbers") {
  const ScratchFolder folder;
  const std::string original = kFamilies + "qwen2";
  for (const char* type : {"bf16", "f16"}) {
    CAPTURE(type);
    const std::string once = folder / (std::string("once_") + type),
                      twice = folder / (std::string("twice_") + type);
    REQUIRE(mtfc(fmt::format("export {} -o {} --export-dtype {}", original, once, type)).code == 0);
    REQUIRE(mtfc(fmt::format("export {} -o {}", once, twice)).code == 0);
    require_same(twice, once);
    for (const auto& [name, tensor] : tensors_of(once)) CHECK(to_string(tensor.type) == type);
  }
}

TEST_CASE("a config.json states the sizes and params that have changed since the import") {
  const ScratchFolder folder;
  const std::string model = folder / "gemma.json";
  REQUIRE(mtfc("import " + kFamilies + "gemma2 -o " + model).code == 0);
  const auto exported = [&](const std::string& sets) {
    const std::string to = folder / "out";
    fs::remove_all(to);
    REQUIRE(
        mtfc(fmt::format("run {} {} --steps 1 --set batch=1 --set length=4 -q --export {}", model, sets, to))
            .code == 0);
    return config_of(to);
  };
  const JsonDocument plain = exported("");
  JsonDocument wanted = plain;
  wanted["num_hidden_layers"] = 3;
  wanted["intermediate_size"] = 20;
  wanted["rms_norm_eps"] = 0.001;
  CHECK(exported("--set layers=3 --set d_ff=20 --set eps=0.001") == wanted);
  const std::string to = folder / "out";
  CHECK(mtfc("import " + to).code == 0);
}

TEST_CASE("lists with an item for each layer have as many as there are layers") {
  const ScratchFolder folder;
  const auto types = [&](const std::string& name, const std::string& config, int layers) {
    JsonDocument changed = config_of(kFamilies + name);
    changed.update(JsonDocument::parse(config));
    fs::create_directories(folder / name);
    std::ofstream(folder / (name + "/config.json")) << changed.dump();
    const std::string to = folder / fmt::format("{}_{}", name, layers);
    const Outcome outcome =
        mtfc(fmt::format("run {} --set layers={} --set batch=1 --set length=4 --steps 1 -q --export {}",
                         folder / name, layers, to));
    CAPTURE(outcome.text);
    REQUIRE(outcome.code == 0);
    return config_of(to).at("layer_types").dump();
  };
  CHECK(types("qwen2", R"({"layer_types": ["full_attention", "full_attention"]})", 3) ==
        R"(["full_attention","full_attention","full_attention"])");
  CHECK(types("gemma3_text",
              R"({"num_hidden_layers": 2, "layer_types": ["sliding_attention", "full_attention"]})",
              4) == R"(["sliding_attention","full_attention","sliding_attention","full_attention"])");
}

TEST_CASE("families of models are exported without a config.json of their own") {
  const ScratchFolder folder;
  const std::string to = folder / "fresh";
  const Outcome outcome =
      mtfc(fmt::format("run {}/models/families/qwen3.json --set layers=2 --set d_model=32 --set "
                       "attention_heads=4 --set heads=2 --set "
                       "d_kv=8 --set d_ff=40 --set vocab=64 --set tied=1 --set batch=2 --set length=8 "
                       "--steps 2 -q --export {}",
                       kSourceFolder, to));
  CAPTURE(outcome.text);
  REQUIRE(outcome.code == 0);
  const JsonDocument config = config_of(to);
  CHECK(config.at("model_type") == "qwen3");
  CHECK(config.at("tie_word_embeddings") == true);
  CHECK(config.at("head_dim") == 8);
  CHECK(mtfc(fmt::format("run {0} --load {0} --evaluate -q --set batch=2 --set length=8", to)).code == 0);
}

TEST_CASE("exports that can't be are refused before anything is computed") {
  const ScratchFolder folder;
  const std::string original = kFamilies + "llama", there = folder / "there";
  fs::create_directory(there);
  std::ofstream(there + "/file") << "x";
  const auto refused = [&](const std::string& arguments, const std::string& message) {
    CAPTURE(arguments);
    const Outcome outcome = mtfc(arguments);
    CAPTURE(outcome.text);
    CHECK(outcome.code == 2);
    CHECK(outcome.text.find(message) != std::string::npos);
  };
  refused(fmt::format("export {} -o {}", original, there), "exists already, and an export is a new folder");
  refused(fmt::format("export {} -o -", original), "writes a folder");
  refused(fmt::format("export {} -o {}", original, folder / "a.safetensors"),
          "ends in .safetensors, but an export is a folder, or a file that ends in .gguf");
  refused(fmt::format("export {} -o {}", folder / "nothing", folder / "a"), "cannot read the model");
  refused(fmt::format("export {} -o {} --export-dtype q8_0", original, folder / "q"),
          "only .gguf files have q8_0");
  refused(fmt::format("export {} -o {} --export-dtype f64", original, folder / "a.gguf"), ".gguf has no f64");
  refused(fmt::format("export {}bloom -o {}", kFamilies, folder / "a.gguf"),
          "models of the family 'bloom' can't be written as .gguf");
  refused(fmt::format("export {}llama_dynamic -o {}", kFamilies, folder / "a.gguf"),
          "can't be written as .gguf");
  refused(fmt::format("export {}/models/mnist.json --load {} -o {}", kSourceFolder, original, folder / "m"),
          "is of no known family of published models");
  refused(fmt::format("run {}/models/mnist.json --export {}", kSourceFolder, folder / "m"),
          "is of no known family of published models");
  refused(fmt::format("run {} --export-dtype f16", original), "--export-dtype needs --export");
  refused(fmt::format("export {}/models/families/llama.json -o {}", kSourceFolder, folder / "m"),
          "no weights are given");
  refused(fmt::format("run {}gpt_neox --set d_kv=10 --set batch=1 --set length=4 --export {}", kFamilies,
                      folder / "m"),
          "'d_kv' is 10, which the config.json of models of the family 'gpt_neox' can't state");
  for (const auto& entry : fs::directory_iterator(folder.path)) CHECK(entry.path() == there);
}

namespace {

// Reads a .gguf file from its beginning to its tensors.
class GgufReader {
 public:
  explicit GgufReader(std::string bytes) : bytes_(std::move(bytes)) {
    REQUIRE(bytes_.substr(0, 4) == "GGUF");
    at_ = 4;
    REQUIRE(number<uint32_t>() == 3);
    const auto tensors = number<uint64_t>(), values = number<uint64_t>();
    for (uint64_t i = 0; i < values; ++i) {
      const std::string key = text();
      keys[key] = value(number<uint32_t>());
    }
    for (uint64_t i = 0; i < tensors; ++i) {
      const std::string name = text();
      Place place;
      for (auto n = number<uint32_t>(); n > 0; --n)
        place.shape.insert(place.shape.begin(), static_cast<int64_t>(number<uint64_t>()));
      place.type = number<uint32_t>();
      place.offset = number<uint64_t>();
      CHECK(place.offset % 32 == 0);
      places[name] = place;
    }
    start_ = (at_ + 31) / 32 * 32;
  }

  // The elements of a tensor of f32, bf16 or q8_0.
  std::vector<float> values(const std::string& name) {
    const Place& place = places.at(name);
    std::vector<float> all(static_cast<size_t>(element_count(place.shape)));
    at_ = start_ + place.offset;
    if (place.type == 8) {
      for (size_t i = 0; i < all.size(); i += 32) {
        const auto scale = static_cast<float>(number<_Float16>());
        for (size_t k = 0; k < 32; ++k) all[i + k] = scale * number<int8_t>();
      }
      return all;
    }
    REQUIRE(place.type == 0);
    for (float& value : all) value = number<float>();
    return all;
  }

  struct Place {
    std::vector<int64_t> shape;
    uint32_t type = 0;
    uint64_t offset = 0;
  };
  std::map<std::string, Place> places;
  std::map<std::string, std::string> keys;

 private:
  template <typename T>
  T number() {
    T found;
    REQUIRE(at_ + sizeof found <= bytes_.size());
    std::memcpy(&found, bytes_.data() + at_, sizeof found);
    at_ += sizeof found;
    return found;
  }

  std::string text() {
    const auto length = number<uint64_t>();
    REQUIRE(at_ + length <= bytes_.size());
    at_ += length;
    return bytes_.substr(at_ - length, length);
  }

  std::string value(uint32_t type) {
    if (type == 4) return fmt::format("{}", number<uint32_t>());
    if (type == 5) return fmt::format("{}", number<int32_t>());
    if (type == 6) return fmt::format("{}", number<float>());
    if (type == 7) return number<uint8_t>() ? "true" : "false";
    if (type == 8) return text();
    REQUIRE(type == 9);
    const auto element = number<uint32_t>();
    std::string all;
    for (auto n = number<uint64_t>(); n > 0; --n) all += value(element) + " ";
    return all;
  }

  std::string bytes_;
  size_t at_ = 0, start_ = 0;
};

std::vector<float> floats(const Tensor& tensor) {
  std::vector<float> all(tensor.bytes.size() / sizeof(float));
  std::memcpy(all.data(), tensor.bytes.data(), tensor.bytes.size());
  return all;
}

}  // namespace

TEST_CASE("a .gguf file has the names, sizes and orders of llama.cpp") {
  const ScratchFolder folder;
  const std::string original = kFamilies + "llama";
  const auto tensors = tensors_of(original);
  for (const char* type : {"f32", "q8_0"}) {
    CAPTURE(type);
    REQUIRE(mtfc(fmt::format("export {} -o {} --export-dtype {}", original, folder / "m.gguf", type)).code ==
            0);
    GgufReader file(read_text(folder / "m.gguf", "file"));
    CHECK(file.keys.at("general.architecture") == "llama");
    CHECK(file.keys.at("llama.block_count") == "2");
    CHECK(file.keys.at("llama.attention.head_count_kv") == "2");
    CHECK(file.keys.at("llama.rope.freq_base") == "10000");
    CHECK(file.places.size() == tensors.size());
    CHECK(file.values("blk.1.ffn_norm.weight") ==
          floats(tensors.at("model.layers.1.post_attention_layernorm.weight")));
    // Rows of queries: each of the 4 heads has 8, of which llama.cpp has the halves as pairs.
    const std::vector<float> found = file.values("blk.0.attn_q.weight"),
                             wanted = floats(tensors.at("model.layers.0.self_attn.q_proj.weight"));
    REQUIRE(found.size() == wanted.size());
    float largest = 0, error = 0;
    for (size_t row = 0; row < 32; ++row)
      for (size_t column = 0; column < 32; ++column) {
        const size_t place = row % 8, from = row - place + place / 2 + place % 2 * 4;
        largest = std::max(largest, std::abs(wanted[from * 32 + column]));
        error = std::max(error, std::abs(found[row * 32 + column] - wanted[from * 32 + column]));
      }
    CHECK(error <= (std::string(type) == "f32" ? 0 : largest / 127));
  }
}

TEST_CASE("a .gguf file takes the tokenizer of the folder") {
  const ScratchFolder folder;
  const std::string source = folder / "source", file = folder / "m.gguf";
  fs::copy(kFamilies + "llama", source);
  const auto tokenizers = [](const std::string& name) {
    return JsonDocument::parse(
               read_text(fmt::format("{}/testdata/tokenizers/{}.json", kSourceFolder, name), "tokenizers"))
        .at("tokenizers");
  };
  const auto exported = [&](const JsonDocument& tokenizer, int vocabulary) {
    std::ofstream(source + "/tokenizer.json") << tokenizer.at("tokenizer").get<std::string>();
    return mtfc(fmt::format("run {} --set vocab={} --set batch=1 --set length=2 -q --export {}", source,
                            vocabulary, file));
  };
  const JsonDocument bytes = tokenizers("byte_level"), blanks = tokenizers("metaspace");
  for (const auto& [tokenizer, model, pattern] :
       {std::tuple(bytes[0], "gpt2", "llama-bpe"), std::tuple(blanks[0], "llama", "default")}) {
    CAPTURE(pattern);
    const Outcome outcome = exported(tokenizer, 700);
    CAPTURE(outcome.text);
    REQUIRE(outcome.code == 0);
    GgufReader found(read_text(file, "file"));
    CHECK(found.keys.at("tokenizer.ggml.model") == model);
    CHECK(found.keys.at("tokenizer.ggml.pre") == pattern);
    const std::string& tokens = found.keys.at("tokenizer.ggml.tokens");
    CHECK(std::count(tokens.begin(), tokens.end(), ' ') >= 700);
    CHECK(tokens.ends_with("[PAD699] "));
    CHECK(found.keys.at("tokenizer.ggml.token_type").ends_with(" 5 5 5 "));
  }
  for (const auto& [tokenizer, vocabulary, message] :
       {std::tuple(bytes[0], 600, "but the model has a vocabulary of 600"),
        std::tuple(bytes[1], 700, "a pattern that llama.cpp has no name for")}) {
    const Outcome outcome = exported(tokenizer, vocabulary);
    CAPTURE(outcome.text);
    CHECK(outcome.code == 2);
    CHECK(outcome.text.find(message) != std::string::npos);
  }
}

TEST_CASE("f8 weights with a scale for each block are read") {
  const ScratchFolder folder;
  // 130 x 140 values in 2 x 2 blocks, each of its own scale; 0x38 is 1, 0x40 is 2, 0xB8 is -1.
  const int64_t rows = 130, columns = 140;
  std::string bytes;
  for (int64_t i = 0; i < rows * columns; ++i)
    bytes += static_cast<char>(i % 3 == 0 ? 0x38 : i % 3 == 1 ? 0x40 : 0xB8);
  const float scales[] = {1, 10, 100, 1000};
  const SafetensorsPlan plan = plan_safetensors(
      {{"w", StoredType::kF8, {rows, columns}}, {"w_scale_inv", StoredType::kF32, {2, 2}}}, {});
  std::string file = plan.header;
  file.append(reinterpret_cast<const char*>(scales), sizeof scales);
  file += bytes;
  std::ofstream(folder / "w.safetensors", std::ios::binary) << file;
  std::ofstream(folder / "m.json")
      << R"({"mtfc": 1, "dims": {"r": 130, "c": 140}, "variables": {"w": {"dims": ["r", "c"], "init": "zeros"}},)"
      << R"( "ops": [{"out": "y", "op": "reduce_sum", "in": "w"}], "outputs": ["y"]})";
  for (const char* layout : {"", "--mesh a:3,b:2 --layout r:a,c:b --simulate"}) {
    const Outcome outcome =
        mtfc(fmt::format("run {} --evaluate -q --load {} --output w={} {}", folder / "m.json",
                         folder / "w.safetensors", folder / "w.npy", layout));
    CAPTURE(outcome.text);
    REQUIRE(outcome.code == 0);
    const std::string npy = read_text(folder / "w.npy", "array");
    const char* values = npy.data() + npy.size() - static_cast<size_t>(rows * columns) * sizeof(float);
    int wrong = 0;
    for (int64_t i = 0; i < rows * columns; ++i) {
      float found = 0;
      std::memcpy(&found, values + i * static_cast<int64_t>(sizeof found), sizeof found);
      const float plain = i % 3 == 0 ? 1 : i % 3 == 1 ? 2 : -1;
      wrong += found != plain * scales[i / columns / 128 * 2 + i % columns / 128];
    }
    CHECK(wrong == 0);
  }
}

}  // namespace mtfc::export_test
