#pragma once
// A model as published ones come: a folder with config.json, files of weights and the tokenizer, or one .gguf file. All
// that can be wrong is found when it is planned, before any long work; only then it is written.
//
//   const Export plan(options, exported_model(sources, model_options, model), map);
//   plan.write(values);

#include <string>
#include <vector>

#include "cmd/options/model_options.h"
#include "cmd/published/export_options.h"
#include "cmd/published/exported_files.h"
#include "core/model/model.h"
#include "formats/data/name_map.h"
#include "formats/import/config_writer.h"

namespace mtfc {

/// A model that is exported.
struct ExportedModel {
  std::string given;                    // MODEL of the command line
  ConfigSource source;                  // of its config.json
  std::vector<VariableDecl> variables;  // without the optimizer's state
  PublishedForm form;
};
/// `sources` must outlive the result.
ExportedModel exported_model(const Sources& sources, const ModelOptions& options, const Model& model);

class Export {
 public:
  /// `maps`: those of --map. Throws UserError for a model that has no published form, and RunError if the target can't
  /// be written.
  Export(const ExportOptions& options, const ExportedModel& model, const std::vector<std::string>& maps);

  /// Throws RunError; then nothing is left.
  void write(const VariableReader& values) const;
  /// `12 files, 16.1 GB of bf16 weights`
  const std::string& summary() const { return summary_; }

 private:
  void plan_folder(const ExportOptions& options, const ExportedModel& model,
                   const std::vector<PublishedTensor>& tensors);
  void plan_file(const ExportOptions& options, const ExportedModel& model);

  std::string target_;
  bool is_folder_ = false;
  std::vector<ExportedFile> files_;
  VariableTypes types_;
  std::string summary_;
};

}  // namespace mtfc
