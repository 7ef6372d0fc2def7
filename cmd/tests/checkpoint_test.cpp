// Runs that are saved and continued: bit for bit as if never stopped, on other meshes and after kills; and
// the refusals.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cmd/testing/running_command.h"
#include "cmd/testing/training_folder.h"
#include "core/testing/checkout.h"
#include "core/testing/skip.h"
#include "formats/data/safetensors.h"

namespace mtfc::checkpoint_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

using Folder = TrainingFolder;

// Checks that both files hold the same tensors, whatever else their headers say.
void check_same_tensors(const std::string& one, const std::string& other) {
  const Safetensors a = read_safetensors(one), b = read_safetensors(other);
  REQUIRE(a.tensors.size() == b.tensors.size());
  for (const auto& tensor : a.tensors) {
    const std::string& name = tensor.first;
    const StoredArray& array = tensor.second;
    INFO(name);
    REQUIRE(b.tensors.count(name) == 1);
    CHECK(b.tensors.at(name).shape == array.shape);
    CHECK(elements_of(b.tensors.at(name)) == elements_of(array));
  }
}

// Returns the log of each step without its times.
std::vector<Json> logged(const Folder& folder, const std::string& name) {
  std::ifstream file(folder / name);
  std::vector<Json> lines;
  for (std::string line; std::getline(file, line);) {
    Json json = Json::parse(line);
    for (const char* key : {"step_time", "samples_per_second", "tokens_per_second", "mfu", "wall_time"})
      json.erase(key);
    lines.push_back(json);
  }
  return lines;
}

}  // namespace

TEST_CASE("the settings of a run are those of its checkpoints") {
  const Folder folder;
  const std::string run = "$MTFC run model.json --input x=x.npy ";
  CHECK(folder.said("$RUN --set hidden=11 --set lr=0.02 --checkpoint ck --steps 3") == "exit 0: ");
  const Json notes = Json::parse(folder.read("ck/step_00000003/checkpoint.json"));
  CHECK(notes["set"] == Json({{"hidden", "11"}, {"lr", "0.02"}}));
  CHECK(notes["names"]["hidden"] == 11);
  CHECK(notes["names"]["batch"] == 6);
  // They hold without being repeated, on one rank and on several, and go on to the next checkpoint.
  CHECK(folder.said("$RUN --set hidden=11 --set lr=0.02 --checkpoint whole --steps 5") == "exit 0: ");
  for (const std::string mesh :
       {"", "--mesh a:2 --layout hidden:a --simulate", "--mesh a:2 --layout batch:a"}) {
    CAPTURE(mesh);
    fs::remove_all(folder.path / "more");
    fs::copy(folder.path / "ck", folder.path / "more", fs::copy_options::recursive);
    const std::string said = folder.said(run + mesh + " --checkpoint more --steps 5 --resume >out");
    CAPTURE(said);
    CHECK(said.starts_with("exit 0: "));
    CHECK(said.find("settings of 'more/step_00000003': --set hidden=11 --set lr=0.02\n") !=
          std::string::npos);
    CHECK(Json::parse(folder.read("more/step_00000005/checkpoint.json"))["set"] == notes["set"]);
    if (mesh.empty()) CHECK(folder.weights("more/step_00000005") == folder.weights("whole/step_00000005"));
    CHECK(folder.said("$RUN --evaluate --load more " + mesh) == "exit 0: ");
    CHECK(folder.said("$RUN --evaluate --load more/step_00000003/variables.safetensors " + mesh) ==
          "exit 0: ");
  }
  // Another value is honoured and said, and stored from then on.
  const std::string said = folder.said(run + "--set lr=0.5 --checkpoint more --steps 7 --resume >out");
  CHECK(said.find("mtfc: warning: --set gives lr=0.5, but 'more/step_00000005' was made with lr=0.02\n") !=
        std::string::npos);
  CHECK(said.find("--set hidden=11\n") != std::string::npos);
  CHECK(Json::parse(folder.read("more/step_00000007/checkpoint.json"))["set"] ==
        Json({{"hidden", "11"}, {"lr", "0.5"}}));
  // One that changes shapes is refused with the reason.
  const std::string hint = " (the checkpoint was made with hidden=11, and now it is 9)\n";
  CHECK(folder.said("$RUN --set hidden=9 --checkpoint ck --steps 7 --resume") ==
        "exit 1: mtfc: error: ck/step_00000003/variables.safetensors: 'w' is f32[5, 11], but the model's 'w' "
        "is "
        "f32[in=5, hidden=9] (the run can continue only with the model that it began with)" +
            hint);
  const std::string loaded = folder.said("$RUN --set hidden=9 --load ck --evaluate");
  CHECK(loaded.starts_with("exit 1: "));
  CHECK(loaded.ends_with(" (hidden is 11 in the file, not 9: --set hidden=11)\n"));
}

TEST_CASE("weights that fit any number of heads are loaded with a warning if there are others") {
  const Folder folder;
  folder.write("packed.json", R"({"mtfc": 1,
    "dims": {"batch": 4, "in": 5, "packed": 8, "heads": 2, "d_kv": "packed // heads"},
    "inputs": {"x": {"dims": ["batch", "in"]}}, "variables": {"w": {"dims": ["in", "packed"], "init": 1}},
    "ops": [{"out": "h", "op": "einsum", "in": ["x", "w"], "over": "in"},
            {"out": "apart", "op": "reshape", "in": "h", "dims": ["batch", "heads", "d_kv"]},
            {"out": "loss", "op": "reduce_mean", "in": {"op": "reduce_max", "in": "apart", "over": "d_kv"}}],
    "train": {"loss": "loss", "optimizer": {"kind": "sgd", "lr": 0.1}}, "outputs": ["loss"],
    "data": {"x": "random:normal"}})");
  CHECK(folder.said("$MTFC run packed.json -q --checkpoint ck --steps 1") == "exit 0: ");
  const std::string evaluate = "$MTFC run packed.json --evaluate --load ck >out ";
  CHECK(folder.said(evaluate + "--set batch=2").find("warning") == std::string::npos);
  const std::string said = folder.said(evaluate + "--set heads=4");
  CHECK(said.starts_with("exit 0: "));
  CHECK(said.find("mtfc: warning: --set gives heads=4, but 'ck/step_00000001' was made with heads=2\n") !=
        std::string::npos);
  CHECK(said.find("mtfc: warning: the model gives d_kv=2, but 'ck/step_00000001' was made with d_kv=4\n") !=
        std::string::npos);
}

TEST_CASE("a run goes on in the precision of its checkpoints") {
  const Folder folder;
  const std::string run = "$RUN --threads 1 --dtype bf16 ";
  CHECK(folder.said(run + "--checkpoint whole --steps 5") == "exit 0: ");
  CHECK(folder.said("$RUN --threads 1 --checkpoint f32 --steps 5") == "exit 0: ");
  CHECK(folder.weights("whole/step_00000005") != folder.weights("f32/step_00000005"));
  CHECK_FALSE(Json::parse(folder.read("f32/step_00000005/checkpoint.json")).contains("dtype"));
  CHECK(folder.said(run + "--checkpoint ck --steps 3") == "exit 0: ");
  CHECK(Json::parse(folder.read("ck/step_00000003/checkpoint.json"))["dtype"] == "bf16");
  // Neither --resume nor a second rank needs to be told.
  const std::string more = "$MTFC run model.json --input x=x.npy --threads 1 --resume ";
  CHECK(folder.said(more + "--checkpoint ck --steps 5 >out")
            .find("settings of 'ck/step_00000003': --dtype bf16\n") != std::string::npos);
  CHECK(folder.weights("ck/step_00000005") == folder.weights("whole/step_00000005"));
  CHECK(folder.said(more + "--checkpoint ck --mesh a:2 --layout batch:a --steps 6 >out")
            .starts_with("exit 0: "));
  CHECK(Json::parse(folder.read("ck/step_00000006/checkpoint.json"))["dtype"] == "bf16");
  // Another precision is honoured and said, and stored from then on.
  CHECK(folder.said(more + "--dtype f32 --checkpoint ck --steps 7 >out")
            .find("mtfc: warning: --dtype is f32, but 'ck/step_00000006' was made with --dtype bf16\n") !=
        std::string::npos);
  CHECK(Json::parse(folder.read("ck/step_00000007/checkpoint.json"))["dtype"] == "f32");
  // A run that begins with loaded weights has its own.
  CHECK(folder.said("$RUN --evaluate --load ck/step_00000006") == "exit 0: ");
}

TEST_CASE("checkpoints without settings, and models that lack the names, are as before") {
  const Folder folder;
  CHECK(folder.said("$RUN --set lr=0.02 --checkpoint ck --steps 3") == "exit 0: ");
  std::string model = kTrainingModel;
  model.replace(model.find("\"lr\": 0.05, "), 12, "");
  model.replace(model.find("\"peak\": \"lr\""), 12, "\"peak\": 0.1");
  std::ofstream(folder / "model.json") << model;
  CHECK(folder.said("$RUN --checkpoint ck --steps 4 --resume") == "exit 0: ");
  std::ofstream(folder / "ck/step_00000004/checkpoint.json")
      << R"({"mtfc_checkpoint": 1, "model": "tiny", "step": 4, "seed": 0, "rows": 24})";
  CHECK(folder.said("$RUN --checkpoint ck --steps 5 --resume") == "exit 0: ");
  CHECK(folder.said("$RUN --load ck --evaluate") == "exit 0: ");
}

TEST_CASE("a run that goes on ends with the bits of one that was never stopped") {
  for (const std::string& mesh : kTrainingMeshes) {
    CAPTURE(mesh);
    const Folder folder;
    const std::string run = "$RUN --seed 5 --metrics log --every 4 " + mesh;
    CHECK(folder.said(run + " --checkpoint whole --steps 10") == "exit 0: ");
    CHECK(folder.names("whole") ==
          std::vector<std::string>{"step_00000004", "step_00000008", "step_00000010"});
    const std::vector<Json> whole = logged(folder, "log");
    REQUIRE(whole.size() == 10);
    CHECK(folder.said(run + " --checkpoint parts --steps 4 --resume") == "exit 0: ");
    // Lines that were logged after the last checkpoint are replaced, not repeated.
    std::ofstream(folder / "log", std::ios::app) << "{\"step\": 5}\n{\"step\": 6, \"lo";
    CHECK(folder.said("$RUN --metrics log --resume --checkpoint parts --steps 10 " + mesh) == "exit 0: ");
    for (const char* file : {"variables.safetensors", "checkpoint.json"}) {
      const std::string name = std::string("/step_00000010/") + file;
      CHECK(folder.read("parts" + name) == folder.read("whole" + name));
      CHECK(folder.read("parts" + name) != folder.read(std::string("whole/step_00000004/") + file));
    }
    CHECK(logged(folder, "log") == whole);
  }
}

TEST_CASE("the metrics lose only the lines of later steps") {
  const Folder folder;
  CHECK(folder.said("$RUN --checkpoint ck --steps 4 --metrics log") == "exit 0: ");
  const std::string whole = folder.read("log");
  const size_t third = whole.find("{\"step\":4");
  std::ofstream(folder / "log") << whole.substr(0, third) << "{\"step\":9}\n"
                                << whole.substr(third) << "{\"ste";
  CHECK(folder.said("$RUN --checkpoint ck --steps 4 --metrics log --resume") == "exit 0: ");
  CHECK(folder.said("$RUN --checkpoint ck --steps 5 --metrics log --resume") == "exit 0: ");
  CHECK(folder.read("log").starts_with(whole));
  CHECK(logged(folder, "log").size() == 5);
}

TEST_CASE("a file that holds no metrics is not continued, and not touched") {
  const Folder folder;
  CHECK(folder.said("$RUN --checkpoint ck --steps 4") == "exit 0: ");
  for (const std::string& text :
       {std::string("{\"step\": 1}\nnotes\n{\"step\": 2}\n"), std::string("\nnotes\n"),
        std::string(R"({"mtfc": 1})"), std::string("{\"step\": 1}\nnotes")}) {
    CAPTURE(text);
    folder.write("notes.txt", text);
    const int line = text.starts_with("{\"step") ? 2 : 1;
    for (const char* mesh : {"", "--mesh a:2 --layout batch:a"})
      CHECK(
          folder.said(fmt::format("$RUN --checkpoint ck --steps 6 --metrics notes.txt --resume {}", mesh)) ==
          fmt::format(
              "exit 2: mtfc: error: notes.txt:{}: this line is not one that --metrics has written, so "
              "--resume does not continue the file (name another file with --metrics)\n",
              line));
    CHECK(folder.read("notes.txt") == text);
  }
  CHECK(folder.names("ck") == std::vector<std::string>{"step_00000004"});
}

TEST_CASE("a checkpoint of four ranks loads on any mesh and layout") {
  const Folder folder;
  REQUIRE(folder.said("$RUN --steps 7 --checkpoint ck --mesh a:2,b:2 --layout batch:a,hidden:b") ==
          "exit 0: ");
  const std::string saved = folder / "ck/step_00000007/variables.safetensors";
  CHECK(folder.said("$RUN --metrics log --resume --checkpoint goon0 --steps 0") == "exit 0: ");
  std::vector<Json> expected;
  for (const std::string& mesh : kTrainingMeshes) {
    CAPTURE(mesh);
    CHECK(folder.said("$RUN --load ck --steps 0 --checkpoint loaded " + mesh) == "exit 0: ");
    check_same_tensors(saved, folder / "loaded/step_00000000/variables.safetensors");
    fs::remove_all(folder.path / "loaded");
    fs::remove_all(folder.path / "goon");
    fs::copy(folder.path / "ck", folder.path / "goon", fs::copy_options::recursive);
    CHECK(folder.said("$RUN --metrics log --resume --checkpoint goon --steps 17 " + mesh) == "exit 0: ");
    std::vector<Json> found = logged(folder, "log");
    if (expected.empty()) expected = found;
    REQUIRE(found.size() == 10);
    for (size_t i = 0; i < found.size(); ++i) {
      CHECK(found[i]["step"] == 8 + i);
      CHECK(found[i]["loss"].get<double>() ==
            doctest::Approx(expected[i]["loss"].get<double>()).epsilon(1e-4));
    }
    fs::remove(folder.path / "log");
  }
}

TEST_CASE("the file of tensors is what others read: names, types, shapes, bytes") {
  const Folder folder;
  REQUIRE(
      folder.said("$RUN --steps 3 --checkpoint ck --output w=w.npy --mesh a:3 --layout in:a --simulate") ==
      "exit 0: ");
  const std::string bytes = folder.weights("ck/step_00000003");
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  const Json header = Json::parse(bytes.substr(8, length));
  CHECK(header["__metadata__"]["format"] == "mtfc");
  CHECK(header["w"]["dtype"] == "F32");
  CHECK(header["w"]["shape"] == Json({5, 7}));
  CHECK(header["h/v/adam_m"]["shape"] == Json({7, 2}));
  CHECK(header["bias"]["shape"] == Json::array());
  CHECK(header["seen"]["dtype"] == "I64");
  CHECK(header["big"]["dtype"] == "BOOL");
  CHECK(header.contains("train/step"));
  const auto tensor = [&](const std::string& name) {
    const size_t begin = header[name]["data_offsets"][0], end = header[name]["data_offsets"][1];
    return bytes.substr(8 + length + begin, end - begin);
  };
  const std::string npy = folder.read("w.npy");
  CHECK(tensor("w") == npy.substr(npy.size() - 5 * 7 * sizeof(float)));
  int64_t seen = 0;
  std::memcpy(&seen, tensor("seen").data(), sizeof seen);
  CHECK(seen == 3);
}

TEST_CASE("--keep leaves the last, --steps 0 saves initial values, nothing is saved twice") {
  const Folder folder;
  CHECK(folder.said("$RUN --steps 9 --checkpoint ck --every 2 --keep 2") == "exit 0: ");
  CHECK(folder.names("ck") == std::vector<std::string>{"step_00000008", "step_00000009"});
  CHECK(folder.said("$RUN --steps 0 --checkpoint initial --output w=w.npy") == "exit 0: ");
  CHECK(folder.names("initial") == std::vector<std::string>{"step_00000000"});
  const std::string npy = folder.read("w.npy");
  CHECK(folder.weights("initial/step_00000000").find(npy.substr(npy.size() - 5 * 7 * sizeof(float))) !=
        std::string::npos);
  CHECK(folder.said("$RUN --steps 9 --checkpoint ck --resume --keep 1") == "exit 0: ");
  CHECK(folder.names("ck").size() == 2);
  CHECK(
      folder.said("$RUN --steps 9 --checkpoint ck --resume --output loss=loss.npy") ==
      refusal(
          "no step is left that computes 'loss' for --output (--evaluate or a larger --steps computes it)"));
}

TEST_CASE("what a killed run leaves unfinished is removed, and is no checkpoint") {
  const Folder folder;
  REQUIRE(folder.said("$RUN --steps 2 --checkpoint ck") == "exit 0: ");
  fs::create_directory(folder.path / "ck/step_00000005.part");
  std::ofstream(folder.path / "ck/step_00000005.part/variables.safetensors") << "half";
  std::ofstream(folder.path / "ck/notes.txt") << "someone's own";
  CHECK(folder.said("$RUN --steps 3 --checkpoint ck --resume") == "exit 0: ");
  CHECK(folder.names("ck") == std::vector<std::string>{"notes.txt", "step_00000002", "step_00000003"});
}

TEST_CASE("folders that have checkpoints, or have another run's, are left alone") {
  const Folder folder;
  REQUIRE(folder.said("$RUN --steps 2 --seed 3 --checkpoint ck") == "exit 0: ");
  const std::string before = folder.weights("ck/step_00000002");
  CHECK(folder.said("$RUN --steps 2 --checkpoint ck") ==
        mistake("--checkpoint: there are checkpoints in 'ck' already, the last of step 2 (--resume continues "
                "from it; another run needs a folder of its own)"));
  CHECK(folder.said("$RUN --steps 4 --checkpoint ck --resume --seed 4") ==
        mistake("--seed 4 differs from the seed of 'ck/step_00000002', which is 3 (leave out --seed to "
                "continue with the same seed)"));
  const std::string own = " (the run can continue only with the model that it began with)";
  CHECK(folder.said("$RUN --steps 4 --checkpoint ck --resume --set hidden=8") ==
        refusal("ck/step_00000002/variables.safetensors: 'w' is f32[5, 7], but the model's 'w' is f32[in=5, "
                "hidden=8]" +
                own + " (the checkpoint was made with hidden=7, and now it is 8)"));
  CHECK(folder.said("$RUN --steps 4 --checkpoint ck --resume --dtype f64") ==
        refusal("ck/step_00000002/variables.safetensors: 'w' is f32[5, 7], but the model's 'w' is f64[in=5, "
                "hidden=7]" +
                own));
  CHECK(folder.said("$RUN --steps 4 --checkpoint ck --resume --set extra=1") ==
        refusal("the checkpoint 'ck/step_00000002' lacks the model's variable 'more'" + own +
                " (the checkpoint was made with extra=0, and now it is 1)"));
  CHECK(folder.said("$RUN --steps 4 --checkpoint ck --resume --optimizer sgd --mesh a:2 --layout batch:a") ==
        refusal("the checkpoint 'ck/step_00000002' has a variable 'bias/adam_m' that the model lacks (its "
                "optimizer is another one: --resume needs the same --optimizer; --load ck/step_00000002 with "
                "another "
                "one begins a run from its weights)"));
  CHECK(folder.said("$RUN --steps 1 --load ck/step_00000002 --optimizer sgd") == "exit 0: ");
  CHECK(folder.weights("ck/step_00000002") == before);
  CHECK(folder.names("ck").size() == 1);
}

TEST_CASE("a checkpoint in the place of its folder is refused, and the folder is named") {
  const Folder folder;
  REQUIRE(folder.said("$RUN --steps 3 --checkpoint ck") == "exit 0: ");
  const auto refused = [](const std::string& path, const std::string& is, const std::string& above) {
    return mistake("--checkpoint takes a folder of checkpoints, but '" + path + "' is " + is +
                   " (name the folder that holds it: --checkpoint " + above + ")");
  };
  const std::string itself = "a checkpoint itself", place = "the place of a checkpoint";
  for (const std::string& options :
       {std::string(), std::string(" --resume"), std::string(" --resume --mesh a:2 --layout batch:a")}) {
    CAPTURE(options);
    const auto said = [&](const std::string& path) {
      return folder.said("$RUN --steps 5 --checkpoint " + path + options);
    };
    CHECK(said("ck/step_00000003") == refused("ck/step_00000003", itself, "ck"));
    CHECK(said("ck/step_00000003/") == refused("ck/step_00000003/", itself, "ck"));
    CHECK(said("./ck/step_00000003") == refused("./ck/step_00000003", itself, "ck"));
    CHECK(said("ck/step_00000009") == refused("ck/step_00000009", place, "ck"));
    CHECK(folder.names("ck") == std::vector<std::string>{"step_00000003"});
    CHECK(folder.names("ck/step_00000003") ==
          std::vector<std::string>{"checkpoint.json", "variables.safetensors"});
  }
  fs::rename(folder.path / "ck/step_00000003", folder.path / "best");
  CHECK(folder.said("$RUN --steps 5 --checkpoint best --resume") == refused("best", itself, "."));
  // No other folder is taken for a checkpoint, whatever its name is.
  CHECK(folder.said("$RUN --steps 3 --checkpoint step_7") == "exit 0: ");
  CHECK(folder.said("$RUN --steps 5 --checkpoint step_7 --resume") == "exit 0: ");
}

TEST_CASE("broken checkpoints are refused with one line, and stay as they are") {
  const Folder folder;
  REQUIRE(folder.said("$RUN --steps 2 --checkpoint ck") == "exit 0: ");
  const std::string good = folder.weights("ck/step_00000002"),
                    file = "ck/step_00000002/variables.safetensors";
  const auto with = [&](const std::string& bytes) {
    std::ofstream(folder / file, std::ios::binary) << bytes;
    const std::string said = folder.said("$RUN --steps 4 --checkpoint ck --resume");
    CHECK(folder.said("$RUN --steps 4 --load ck") == said);
    CHECK(folder.read(file) == bytes);
    CHECK(folder.names("ck").size() == 1);
    return said;
  };
  CHECK(with(good.substr(0, good.size() - 1)).starts_with(refusal("").substr(0, 21) + file));
  CHECK(with(good.substr(0, 100)).find("is cut off") != std::string::npos);
  CHECK(with("") == refusal(file + ": the file is empty"));
  CHECK(with("\xff\xff\xff\xff\xff\xff\xff\x0f" + good.substr(8))
            .find("has 1152921504606846975 bytes, more than the 100000000") != std::string::npos);
  std::ofstream(folder / file, std::ios::binary) << good;
  CHECK(folder.said("$RUN --steps 2 --checkpoint ck --resume") == "exit 0: ");
  const std::string notes = "ck/step_00000002/checkpoint.json";
  std::ofstream(folder / notes) << R"({"mtfc_checkpoint": 1, "step": 3, "seed": 0, "rows": 12})";
  CHECK(folder.said("$RUN --steps 4 --checkpoint ck --resume") ==
        refusal("the checkpoint 'ck/step_00000002' was saved at step 3, which is not the step in its name"));
  std::ofstream(folder / notes) << R"({"mtfc_checkpoint": 1, "step": -2, "seed": 0, "rows": 12})";
  CHECK(folder.said("$RUN --steps 4 --checkpoint ck --resume") ==
        refusal(notes + ": the file lacks the whole number 'step'"));
}

TEST_CASE("steps and rows are counted up to 2^53") {
  const Folder folder;
  std::ofstream(folder / "text") << std::string(200, 'a');
  std::ofstream(folder / "text.json") << R"({"mtfc": 1, "name": "t", "dims": {"batch": 2, "length": 3},
    "inputs": {"x": {"dims": ["batch", "length"], "dtype": "i32"}},
    "variables": {"w": {"dims": [], "init": 1}},
    "ops": [{"out": "l", "op": "reduce_mean", "in": {"op": "mul", "in": ["w", {"op": "cast", "in": "x", "dtype": "f32"}]}}],
    "train": {"loss": "l", "optimizer": {"kind": "sgd", "lr": 0.1}}})";
  const std::string most = "9007199254740992", over = "9007199254740993";
  const std::string notes = "/checkpoint.json";
  for (const std::string& run :
       std::vector<std::string>{"$RUN", "$MTFC run text.json -q --input x=text:text"}) {
    CAPTURE(run);
    fs::remove_all(folder.path / "ck");
    REQUIRE(folder.said(run + " --steps 2 --checkpoint ck") == "exit 0: ");
    const std::string last = "ck/step_00000002", far = "ck/step_" + most;
    const auto write = [&](const std::string& where, const std::string& step, const std::string& rows) {
      Json json = Json::parse(folder.read(where + notes));
      json["step"] = std::stoull(step);
      json["rows"] = std::stoull(rows);
      json.erase("checksum");
      std::ofstream(folder / (where + notes)) << json;
    };
    for (const std::string& rows :
         std::vector<std::string>{over, "9223372036854775807", "9223372036854775800"}) {
      write(last, "2", rows);
      CHECK(folder.said("$HANG_GUARD " + run + " --steps 4 --checkpoint ck --resume") ==
            refusal(last + notes + ": 'rows' is " + rows + ", more than the " + most +
                    " that a run can count"));
    }
    write(last, "2", most);
    CHECK(folder.said(run + " --steps 2 --checkpoint ck --resume") == "exit 0: ");
    CHECK(folder.said(run + " --steps 3 --checkpoint ck --resume") ==
          refusal("step 3 is out of reach: training has taken " + most +
                  " rows before step 2, and can count no more than " + most));
    write(last, "2", "9007199254740000");
    CHECK(folder.said(run + " --steps 3 --checkpoint ck --resume") == "exit 0: ");
    fs::rename(folder.path / last, folder.path / far);
    write(far, most, "12");
    CHECK(folder.said(run + " --checkpoint ck --resume --steps " + most) == "exit 0: ");
    write(far, over, "12");
    CHECK(folder.said(run + " --checkpoint ck --resume --steps " + most) ==
          refusal(far + notes + ": 'step' is " + over + ", more than the " + most +
                  " that a run can count (remove or rename '" + far +
                  "' to continue from 'ck/step_00000003')"));
    CHECK(folder.said(run + " --steps " + over) ==
          mistake("--steps: expected at most " + most + ", found " + over + " (see mtfc run --help)"));
  }
}

TEST_CASE("a disk that is full or closed ends the run at once, and loses nothing earlier") {
  const Folder folder;
  CHECK(folder.said("$RUN --steps 1000000000 --checkpoint model.json") ==
        refusal("cannot write checkpoints to 'model.json': Not a directory"));
  REQUIRE(folder.said("$RUN --steps 2 --checkpoint ck") == "exit 0: ");
  const std::string before = folder.weights("ck/step_00000002");
  // The largest file that the shell allows simulates a full disk.
  CHECK(
      folder.said("trap '' XFSZ; ulimit -f 1; $RUN --steps 1000000000 --every 1 --checkpoint ck --resume") ==
      refusal("cannot write the checkpoint 'ck/step_00000003': File too large"));
  CHECK(folder.names("ck") == std::vector<std::string>{"step_00000002"});
  CHECK(folder.weights("ck/step_00000002") == before);
  // Repeats this with a disk of its own, if the system lets users mount one.
  const std::string disk = "mkdir disk; unshare -rm sh -c 'mount -t tmpfs -o size=20k tmpfs disk && ";
  if (!folder.said(disk + "true'").starts_with("exit 0"))
    return skip_without("namespaces", "no run has a full disk of its own");
  for (const char* mesh : {"", "--mesh a:2 --layout hidden:a"}) {
    const std::string said = folder.said(fmt::format(
        "unshare -rm sh -c 'mount -t tmpfs -o size=20k tmpfs disk; R=$0; $R --steps 1000000000 --every 1 "
        "--checkpoint disk/ck {}; code=$?; ls disk/ck >left; exit $code' \"$RUN\"",
        mesh));
    CHECK(said.starts_with("exit 1: mtfc: error: "));
    CHECK(said.find("cannot write the checkpoint 'disk/ck/step_0000000") != std::string::npos);
    CHECK(said.ends_with("No space left on device\n"));
    CHECK(said.find('\n') + 1 == said.size());
    CHECK(folder.read("left").starts_with("step_00000001\n"));
    CHECK(folder.read("left").find("part") == std::string::npos);
  }
}

TEST_CASE("an interrupt saves, and the run goes on to the same end") {
  const Folder folder;
  const std::string
      run = "rm -f log; $RUN --checkpoint ck --resume --steps 100000000 --metrics log",
      interrupt =
          "& run=$!; while kill -0 $run && ! [ -s log ]; do sleep 0.02; done; kill -INT $run; wait "
          "$run";
  for (const char* mesh : {"", "--mesh a:2 --layout hidden:a"}) {
    CAPTURE(mesh);
    const std::string said = folder.said(fmt::format("{} {} {}", run, mesh, interrupt));
    REQUIRE(folder.names("ck").size() == 1);
    const std::string last = folder.names("ck")[0];
    const int64_t step = std::stoll(last.substr(5));
    CHECK(said ==
          fmt::format("exit 130: mtfc: interrupted by SIGINT: stopped after step {} of 100000000; the last "
                      "checkpoint is 'ck/{}'\n",
                      step, last));
    REQUIRE(step > 0);
    CHECK(folder.said(fmt::format("$RUN --steps {} --checkpoint whole {}", step, mesh)) == "exit 0: ");
    CHECK(folder.weights("whole/" + last) == folder.weights("ck/" + last));
    fs::remove_all(folder.path / "ck");
    fs::remove_all(folder.path / "whole");
  }
}

TEST_CASE("a folder serves one run at a time") {
  const Folder folder;
  RunningCommand first(
      folder, "$MTFC run model.json -q --input x=x.npy --steps 100000000 --checkpoint ck --metrics log");
  // Once it takes steps, the folder is its own.
  REQUIRE(eventually([&] { return first.ended() || !folder.read("log").empty(); }));
  first.pause();
  const std::string said = folder.said("$RUN --steps 1 --checkpoint ck");
  first.resume();
  first.interrupt();
  CHECK(first.exit_code() == 130);
  CHECK(said == refusal("another run is writing its checkpoints to 'ck'"));
}

TEST_CASE("killed runs go on to the weights of one that was not killed") {
  const int status = std::system(
      fmt::format("'{}/scripts/kill_runs.sh' 3 '{}' 1 >/dev/null 2>&1", kSourceFolder, kTestedProgram)
          .c_str());
  CHECK(status == 0);
}

TEST_CASE("options that need each other") {
  const Folder folder;
  for (const char* option : {"--every 2", "--keep 2", "--resume"})
    CHECK(folder.said(fmt::format("$RUN {}", option)) ==
          mistake(fmt::format("{} needs --checkpoint (give the folder with --checkpoint DIR)",
                              std::string(option).substr(0, std::string(option).find(' ')))));
  CHECK(
      folder.said("$RUN --evaluate --checkpoint ck") ==
      mistake("--checkpoint saves trained variables, but --evaluate trains nothing (--load ck reads the last "
              "checkpoint)"));
  CHECK(folder.said("$RUN --map a=b") ==
        mistake("--map needs --load (it renames the tensors of a loaded file)"));
}

}  // namespace mtfc::checkpoint_test
