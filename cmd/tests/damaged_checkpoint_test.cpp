// Checkpoints that have suffered on the disk: flipped bits, missing files, failing system calls.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "cmd/testing/shell.h"
#include "cmd/testing/training_folder.h"
#include "core/testing/checkout.h"
#include "core/testing/skip.h"
#include "formats/data/safetensors.h"

namespace mtfc::damaged_checkpoint_test {
namespace {

namespace fs = std::filesystem;
using Folder = TrainingFolder;

void write(const Folder& folder, const std::string& file, const std::string& bytes) {
  std::ofstream(folder / file, std::ios::binary) << bytes;
}

void flip_last_bit(const Folder& folder, const std::string& file) {
  std::string bytes = folder.read(file);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write(folder, file, bytes);
}

// SplitMix64 as it was published (Steele, Lea and Flood 2014), one number after the other.
struct SplitMix64 {
  uint64_t state;
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
};

uint64_t expected_checksum(const StoredArray& array) {
  const std::string bytes = elements_of(array);
  const auto size = static_cast<size_t>(size_of(array.type));
  uint64_t sum = 0;
  for (size_t p = 0; p < bytes.size() / size; ++p) {
    SplitMix64 generator{0};
    std::memcpy(&generator.state, &bytes[p * size], size);
    for (size_t i = 0; i < p; ++i) generator.next();
    sum += generator.next();
  }
  return sum;
}

}  // namespace

TEST_CASE("a flipped bit is noticed, and the checkpoint before it is named") {
  const Folder folder;
  for (const std::string mesh : {"", "--mesh a:2 --layout hidden:a"}) {
    CAPTURE(mesh);
    fs::remove_all(folder.path / "ck");
    REQUIRE(folder.said("$RUN --steps 4 --every 2 --checkpoint ck " + mesh) == "exit 0: ");
    const std::string file = "ck/step_00000004/variables.safetensors",
                      good = folder.weights("ck/step_00000004"),
                      advice = " (remove or rename 'ck/step_00000004' to continue from 'ck/step_00000002')";
    const Safetensors tensors = read_safetensors(folder / file);
    for (const std::string name : {"w", "h/v", "h/v/adam_m"}) {
      const std::string elements = elements_of(tensors.tensors.at(name));
      const size_t at = good.find(elements);
      REQUIRE(good.find(elements, at + 1) == std::string::npos);
      for (const size_t byte : {size_t{0}, elements.size() - 1}) {
        std::string bad = good;
        bad[at + byte] = static_cast<char>(bad[at + byte] ^ 4);
        write(folder, file, bad);
        const std::string damaged = refusal(
            fmt::format("{}: '{}' is damaged: its contents differ from its checksum{}", file, name, advice));
        CHECK(folder.said("$RUN --steps 6 --checkpoint ck --resume " + mesh) == damaged);
        CHECK(folder.said("$RUN --steps 6 --load ck " + mesh) == damaged);
        // An evaluation does not read the state of the optimizer.
        CHECK(folder.said("$RUN --evaluate --load " + file + " " + mesh) ==
              (name == "h/v/adam_m" ? "exit 0: " : damaged));
        CHECK(folder.names("ck").size() == 2);
      }
    }
    write(folder, file, good.substr(0, good.size() - 1));
    const std::string said = folder.said("$RUN --steps 6 --checkpoint ck --resume " + mesh);
    CHECK(said.ends_with(advice + "\n"));
    CHECK(folder.said("$RUN --steps 6 --load ck " + mesh) == said);
    write(folder, file, good);
    write(folder, "ck/step_00000004/checkpoint.json", "{}");
    CHECK(folder.said("$RUN --steps 6 --checkpoint ck --resume " + mesh) ==
          refusal("ck/step_00000004/checkpoint.json: not a checkpoint.json of mtfc" + advice));
    fs::rename(folder.path / "ck/step_00000004", folder.path / "damaged");
    CHECK(folder.said("$RUN --steps 4 --every 2 --checkpoint ck --resume " + mesh) == "exit 0: ");
    CHECK(folder.weights("ck/step_00000004") == good);
    fs::remove_all(folder.path / "damaged");
  }
}

TEST_CASE("a flipped bit is noticed in whichever tensor it is") {
  const Folder folder;
  REQUIRE(folder.said("$RUN --steps 2 --checkpoint ck") == "exit 0: ");
  const std::string file = "ck/step_00000002/variables.safetensors",
                    good = folder.weights("ck/step_00000002");
  // The elements of all tensors are the end of the file.
  std::vector<std::pair<std::string, size_t>> ends;
  {
    const Safetensors tensors = read_safetensors(folder / file);
    const std::byte* end = nullptr;
    for (const auto& [name, array] : tensors.tensors)
      end = std::max(end, array.data + elements_of(array).size());
    for (const auto& [name, array] : tensors.tensors)
      ends.emplace_back(name,
                        good.size() - static_cast<size_t>(end - array.data) + elements_of(array).size());
  }
  REQUIRE(ends.size() > 5);
  for (const auto& [name, end] : ends) {
    CAPTURE(name);
    std::string bad = good;
    bad[end - 1] = static_cast<char>(bad[end - 1] ^ 4);
    write(folder, file, bad);
    CHECK(folder.said("$RUN --steps 3 --checkpoint ck --resume") ==
          refusal(fmt::format("{}: '{}' is damaged: its contents differ from its checksum", file, name)));
  }
}

TEST_CASE("a changed digit of checkpoint.json is noticed, and the checkpoint before it is named") {
  const Folder folder;
  REQUIRE(folder.said("$RUN --steps 4 --every 2 --checkpoint ck") == "exit 0: ");
  const std::string file = "ck/step_00000004/checkpoint.json", good = folder.read(file);
  // FNV-1a as it was published (Fowler, Noll and Vo): 64 bits of all that stands before the last key.
  const size_t end = good.rfind(",\"checksum\":");
  REQUIRE(end != std::string::npos);
  uint64_t hash = 14695981039346656037U;
  for (size_t i = 0; i < end; ++i) hash = (hash ^ static_cast<unsigned char>(good[i])) * 1099511628211U;
  CHECK(good.substr(end) == fmt::format(",\"checksum\":\"{:016x}\"}}\n", hash));
  const std::string damaged = refusal(file +
                                      " is damaged: its contents differ from its checksum (remove or rename "
                                      "'ck/step_00000004' to continue from 'ck/step_00000002')");
  const std::vector<std::pair<std::string, std::string>> changes = {{"\"rows\":24", "\"rows\":25"},
                                                                    {"\"rows\":24", "\"rows\":0"},
                                                                    {"\"seed\":0", "\"seed\":1"},
                                                                    {"\"step\":4", "\"step\":2"},
                                                                    {"\"checksum\":\"", "\"checksum\":\"1"}};
  for (const auto& [from, to] : changes) {
    CAPTURE(to);
    std::string bad = good;
    REQUIRE(bad.find(from) != std::string::npos);
    bad.replace(bad.find(from), from.size(), to);
    write(folder, file, bad);
    CHECK(folder.said("$RUN --steps 6 --checkpoint ck --resume") == damaged);
    CHECK(folder.said("$RUN --steps 6 --load ck") == damaged);
    CHECK(folder.said("$RUN --steps 6 --checkpoint ck --resume --mesh a:2 --layout hidden:a") == damaged);
  }
  // Older checkpoints have no checksum.
  write(folder, file, good.substr(0, end) + "}\n");
  CHECK(folder.said("$RUN --steps 6 --checkpoint ck --resume") == "exit 0: ");
}

TEST_CASE("a checkpoint.json that can't be understood is an error, whoever reads it") {
  const Folder folder;
  REQUIRE(folder.said("$RUN --steps 4 --every 2 --checkpoint ck") == "exit 0: ");
  const std::string file = "ck/step_00000004/checkpoint.json", good = folder.read(file),
                    advice = " (remove or rename 'ck/step_00000004' to continue from 'ck/step_00000002')\n";
  for (const std::string& bad :
       {std::string(), std::string("{"), std::string("{}"), std::string("[1]"), good.substr(0, 20),
        std::string("{\"mtfc_checkpoint\": 2}"), std::string("{\"mtfc_checkpoint\": 1}"), "x" + good}) {
    CAPTURE(bad);
    write(folder, file, bad);
    const std::string said = folder.said("$RUN --steps 6 --checkpoint ck --resume");
    CHECK(said.starts_with("exit 1: mtfc: error: " + file + ": "));
    CHECK(said.ends_with(advice));
    for (const char* loads : {"ck", "ck/step_00000004", "ck/step_00000004/variables.safetensors"}) {
      CHECK(folder.said(fmt::format("$RUN --evaluate --load {}", loads)) == said);
      CHECK(folder.said(fmt::format("$RUN --steps 2 --mesh a:2 --layout hidden:a --load {}", loads)) == said);
    }
  }
  // Without the file, there are only weights.
  fs::remove(folder.path / file);
  CHECK(folder.said("$RUN --evaluate --load ck/step_00000004") == "exit 0: ");
}

TEST_CASE("generate notices a flipped bit") {
  const Folder folder;
  const std::string options =
      " -q --set layers=1 --set d_model=8 --set d_ff=8 --set length=8 --set batch=2 --set heads=2";
  const std::string model = fmt::format("'{}/models/char_lm.json'", kSourceFolder);
  REQUIRE(folder.said("$MTFC run " + model + options + " --input tokens=text:model.json --input " +
                      "targets=text:model.json,shift=1 --steps 1 --checkpoint ck") == "exit 0: ");
  const std::string generate =
      "$MTFC generate " + model + options + " --checkpoint ck --prompt a --length 2 >out";
  CHECK(folder.said(generate) == "exit 0: ");
  const std::string file = "ck/step_00000001/variables.safetensors";
  std::string bytes = folder.read(file);
  const std::string elements = elements_of(read_safetensors(folder / file).tensors.at("embedding/table"));
  const size_t at = bytes.find(elements);
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  write(folder, file, bytes);
  CHECK(folder.said(generate) ==
        refusal(file + ": 'embedding/table' is damaged: its contents differ from its checksum"));
}

TEST_CASE("a file without checksums loads as before") {
  const Folder folder;
  REQUIRE(folder.said("$RUN --steps 2 --checkpoint ck") == "exit 0: ");
  const std::string file = "ck/step_00000002/variables.safetensors", key = "\"checksums\"";
  std::string bytes = folder.read(file);
  REQUIRE(bytes.find(key) != std::string::npos);
  bytes.replace(bytes.find(key), key.size(), "\"checkless\"");
  write(folder, file, bytes);
  CHECK(folder.said("$RUN --evaluate --load ck") == "exit 0: ");
  flip_last_bit(folder, file);
  CHECK(folder.said("$RUN --steps 3 --checkpoint ck --resume") == "exit 0: ");
}

TEST_CASE("checksums are those of the published formula, and layouts do not change a bit of the file") {
  const Folder folder;
  REQUIRE(folder.said("$RUN --steps 3 --checkpoint ck") == "exit 0: ");
  const std::string file = "ck/step_00000003/variables.safetensors";
  const Safetensors tensors = read_safetensors(folder / file);
  for (const auto& [name, array] : tensors.tensors) {
    REQUIRE(array.checksum);
    CHECK(*array.checksum == expected_checksum(array));
  }
  for (const std::string& mesh : kTrainingMeshes) {
    CAPTURE(mesh);
    fs::remove_all(folder.path / "other");
    REQUIRE(folder.said("$RUN --steps 0 --load ck --checkpoint other " + mesh) == "exit 0: ");
    std::string bytes = folder.weights("other/step_00000000");
    const std::string step = "\"step\":\"0\"";
    REQUIRE(bytes.find(step) != std::string::npos);
    bytes.replace(bytes.find(step), step.size(), "\"step\":\"3\"");
    CHECK(bytes == folder.read(file));
  }
  const std::string python = python_with("numpy");
  if (python.empty()) return skip_without("numpy", "the formula in NumPy is not judged");
  const std::string check =
      fmt::format("{} '{}/scripts/read_safetensors.py' --check {} >out", python, kSourceFolder, file);
  CHECK(folder.said(check) == "exit 0: ");
  flip_last_bit(folder, file);
  CHECK(folder.said(check).starts_with("exit 1: "));
}

TEST_CASE("system calls that fail end a run with one line, and cost no checkpoint") {
  const Outcome outcome = outcome_of(
      fmt::format("'{}/scripts/fail_calls.sh' '{}' 4 '{}' 2>&1", kSourceFolder,
                  (std::filesystem::path(kTestedProgram).parent_path() / "libfailing_calls.so").string(),
                  kTestedProgram));
  CAPTURE(outcome.text);
  CHECK(outcome.code == 0);
}

TEST_CASE("a folder that lacks a file is passed over with a warning") {
  const Folder folder;
  // Runs the model, and checks that it warns of the folder `path`, which lacks `file`.
  const auto passes_over = [&](const std::string& path, const std::string& file, const std::string& options) {
    CAPTURE(options);
    const std::string said = folder.said("$MTFC run model.json --input x=x.npy " + options + " >out");
    CAPTURE(said);
    CHECK(said.starts_with("exit 0: "));
    const std::string warning =
        "mtfc: warning: '" + path + "' lacks the file " + file + ", so it is not a checkpoint\n";
    CHECK(said.find(warning) != std::string::npos);
    CHECK(said.find(warning) == said.rfind(warning));
  };
  REQUIRE(folder.said("$RUN --steps 3 --checkpoint whole") == "exit 0: ");
  fs::create_directories(folder.path / "ck/step_00000099");
  const std::string two = "--mesh a:2 --layout batch:a", none = "ck/step_00000099",
                    lacks = "variables.safetensors";
  passes_over(none, lacks, "--steps 2 --checkpoint ck");
  passes_over(none, lacks, "--steps 2 --checkpoint ck --resume " + two);
  passes_over(none, lacks, "--evaluate --load ck " + two);
  passes_over(none, lacks, "--steps 3 --checkpoint ck --resume --keep 1");
  CHECK(folder.said("$RUN --evaluate --load ck") == "exit 0: ");
  CHECK(folder.weights("ck/step_00000003") == folder.weights("whole/step_00000003"));
  CHECK(folder.names("ck") == std::vector<std::string>{"step_00000003", "step_00000099"});
  // A folder in the place of a new checkpoint gives way.
  fs::remove_all(folder.path / "ck/step_00000099");
  fs::copy(folder.path / "ck/step_00000003", folder.path / "ck/step_00000004");
  fs::remove(folder.path / "ck/step_00000004/checkpoint.json");
  passes_over("ck/step_00000004", "checkpoint.json", "--steps 4 --checkpoint ck --resume");
  CHECK(folder.names("ck") ==
        std::vector<std::string>{"step_00000003", "step_00000004", "step_00000004.incomplete"});
  CHECK(folder.said("$RUN --steps 4 --checkpoint ck --resume") == "exit 0: ");
}

}  // namespace mtfc::damaged_checkpoint_test
