#pragma once
// Compiles what a run executes, and judges it before anything is written. `mtfc run` does so before its first step, and
// `mtfc slurm` before it writes the file of a job that runs it.
//
//   RunPreparation preparation(options);
//   sources.defaults = preparation.defaults();
//   const Program program = preparation.compile(sources, warnings);
//   preparation.require_ready(program);

#include <optional>
#include <string>
#include <vector>

#include "cmd/options/model_options.h"
#include "cmd/published/export.h"
#include "cmd/running/run_options.h"
#include "cmd/running/stored_settings.h"
#include "cmd/running/training.h"
#include "core/cost/hardware.h"
#include "core/program/program.h"

namespace mtfc {

class RunPreparation {
 public:
  /// `options` must outlive this object.
  explicit RunPreparation(const RunOptions& options) : options_(options) {}

  /// Reads the settings of the checkpoint that the run continues from or loads.
  Defaults defaults();
  /// Throws UserError also for a program that does not fit into the limits of the options.
  Program compile(const Sources& sources, std::vector<Diagnostic>& warnings);
  /// Throws UserError or RunError if the run can't begin, and says what people should know before it does.
  void require_ready(const Program& program);

  /// Nothing if the options name no profile; compile() reads it.
  const Hardware* hardware() const { return hardware_ ? &*hardware_ : nullptr; }
  /// NAME=VALUE: all settings that the program was compiled with.
  const std::vector<std::string>& sets() const { return sets_; }
  const std::optional<std::string>& dtype() const { return dtype_; }
  /// That of the model; nothing for a saved program.
  const LanguageLoss& loss() const { return loss_; }
  /// That of --export, on the rank that has compiled the program; nullptr without one.
  const Export* exported() const { return export_ ? &*export_ : nullptr; }

 private:
  bool continues() const;

  const RunOptions& options_;
  std::optional<StoredSettings> stored_;
  std::optional<Hardware> hardware_;
  std::vector<std::string> sets_;
  std::optional<std::string> dtype_;
  LanguageLoss loss_;
  std::optional<Export> export_;
};

}  // namespace mtfc
