#pragma once
// The lines at the beginning of a run that say what is about to run.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/cost/hardware.h"
#include "core/program/program.h"
#include "core/tensors/data.h"

namespace mtfc {

/// The run, as far as its program does not say it.
struct RunExtent {
  int64_t first_step = 0, steps = 0;  // steps made before, and in the end; of --steps
  bool has_data = false;              // it is an evaluation over data, which has no steps
};

/// The ranks, hosts and threads on which a program runs.
struct RunPlace {
  int64_t ranks = 1;  // 1 for all devices in one process
  int64_t hosts = 1;
  int threads = 1;            // per rank
  int64_t device_memory = 0;  // beside which bytes are shown; 0: not known
};

/// Two lines, such as
///
///   mnist: train, steps 31 to 40, 813 k parameters in f32
///   mesh all:2, layout hidden:all: 2 ranks on 1 host, 1 thread each, 3.44 MiB per rank
std::string run_header(const Program& program, const EntryPoint& entry, const RunExtent& extent,
                       const RunPlace& place);

/// A warning if the ranks of the profile had other threads than those of the run, or "".
std::string threads_warning(const Hardware& hardware, const Mesh& mesh, const RunPlace& place);

/// True if one of the values of --input (NAME=SPEC) is for this input. All other data is the model's own.
bool is_given(const std::string& input, const std::vector<std::string>& given);

/// A line with the data of the entry point's inputs, or "" if it has none:
///
///   data: images from idx:train-images.gz,scale=1/255; labels from random:int,hi=classes (the model's own)
///
/// `given`: the values of --input. `filled`: the share of the rows of texts that is no padding, if there are some.
std::string data_line(const EntryPoint& entry, const std::vector<InputData>& inputs,
                      const std::vector<std::string>& given, std::optional<double> filled);

/// A warning if some inputs have been given data, and others stay random because the model says so: a training with
/// random labels is rarely meant. Otherwise "".
std::string random_data_warning(const EntryPoint& entry, const std::vector<InputData>& inputs,
                                const std::vector<std::string>& given);

}  // namespace mtfc
