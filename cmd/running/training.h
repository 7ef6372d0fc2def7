#pragma once
// A run after everything is compiled and opened: initial values, steps or an evaluation, results.
//
// All ranks execute it alike; one speaks. Between steps the ranks agree on whether to stop (Ctrl-C).

#include <string>

#include "cmd/published/export.h"
#include "cmd/running/run_data.h"
#include "cmd/running/run_options.h"
#include "cmd/running/run_times.h"
#include "core/cost/hardware.h"
#include "core/program/program.h"
#include "runtime/comm/comm.h"

namespace mtfc {

/// The loss of a model whose exponential is a perplexity if it is a language model.
struct LanguageLoss {
  std::string output = {};  // mean_cross_entropy() (core/model/cross_entropy.h)
  bool generates = false;  // the model has `decode`, so it is one; otherwise it is one if its data are tokens
};

/// The clock and the profile by which a run is judged.
struct RunMeasures {
  // That times are predicted for, and whose peak rates the MFU is of; without it, the MFU is of rates that the run
  // measures.
  const Hardware* hardware = nullptr;
  RunClock begin;  // of the process
  LanguageLoss loss = {};
  const Export* exported = nullptr;  // the form in which rank 0 leaves the model behind, after the last step
};

/// Runs `program` as `options` say. Throws UserError and RunError.
int run_program(const Program& program, const RunOptions& options, RunData data, Comm& comm,
                const RunMeasures& measures);

}  // namespace mtfc
