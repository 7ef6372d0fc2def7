#pragma once
// Code that tests of generation share: models and layouts, a reference without caches and without a mesh (the model's
// own graph, evaluated again over the growing sequence), and the command.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/program/program.h"
#include "runtime/comm/comm_lockstep.h"
#include "runtime/execute/executor.h"

namespace mtfc {

using Sets = std::vector<std::string>;
using Tokens = std::vector<int64_t>;

/// A bundled model with settings.
struct GenerationCase {
  std::string model;
  Sets sets;
};

struct Split {
  std::string mesh, rules;
  std::string options() const;
  /// The same program and kernels without starting ranks, which takes longer than small models.
  std::string simulated() const { return options() + " --simulate"; }
};

/// The model's forward pass with its logits; with `decode`, what generation runs.
Program program_of(const GenerationCase& model, const Sets& more, const Split& split, bool decode,
                   WeightFormat weights = WeightFormat::kF32);

/// A program on all devices of its mesh in this process, with initial weights.
struct Running {
  Running(Program made, uint64_t seed);
  Program program;
  Processes processes;
  LockstepComm comm;
  Executor executor;
};

/// Copies `values` to the beginning of an input of 32-bit integers on the only device; zeros follow.
void give_tokens(Executor& executor, const EntryPoint& entry, const Binding& input, const Tokens& values);

/// The logits of the token after each sequence, from the graph that is trained.
class Uncached {
 public:
  explicit Uncached(const GenerationCase& model, uint64_t seed = 0);
  Executor& executor() { return run_.executor; }
  /// Sets the sentence that the next sequences translate.
  void set_source(const Tokens& source) { source_ = source; }

  std::vector<double> logits(const Tokens& tokens);
  /// Goes on for `length` tokens, or up to the token `stop`.
  Tokens greedy(const Tokens& prompt, size_t length, int64_t stop = -1);

  struct Beam {
    Tokens tokens;  // including the prompt
    double sum = 0, score = 0;
  };
  /// Returns the best results, which end with `stop` or have the length. Looks at every continuation of every beam.
  std::vector<Beam> beams(const Tokens& prompt, size_t length, size_t count, double alpha, int64_t stop);

 private:
  Running run_;
  const EntryPoint& entry_;
  Tokens source_;
};

/// The exit code and the output of `mtfc generate` with these arguments.
struct Said {
  int code = 0;
  std::string out, err;
};
Said said(const std::string& arguments);
/// The model's file and settings as arguments.
std::string model_arguments(const GenerationCase& model);
/// Returns the output of a command that must succeed and say nothing else.
std::string generated(const GenerationCase& model, const std::string& arguments);
/// Returns the error of a command that must be refused with exit code 2.
std::string refused(const GenerationCase& model, const std::string& arguments);

/// `7,3,40`
std::string ids(const Tokens& tokens);
/// Scores with four digits, since two orders of summation do not agree on more.
std::string with_rounded_scores(const std::string& text);

}  // namespace mtfc
