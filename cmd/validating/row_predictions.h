#pragma once
// Predictions for rows of published runs. Rows whose programs are the same share them: the programs of a group are
// compiled once, and priced for the hardware of each row.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cmd/validating/program_figures.h"
#include "cmd/validating/row_plan.h"
#include "formats/validation/validation_scores.h"

namespace mtfc {

/// The profiles of rows, by the names that rows have for them.
class RowProfiles {
 public:
  /// `given`: PROFILE for all rows, or NAME=PROFILE for those that name NAME. Other rows have the bundled profiles of
  /// their names. Throws UserError.
  explicit RowProfiles(const std::vector<std::string>& given);
  /// Throws UserError if there is none.
  const Hardware& find(const std::string& name) const;
  /// The name under which find() keeps the profile of rows with this name.
  const std::string& key(const std::string& name) const { return for_all_.empty() ? name : for_all_; }
  void replace(const std::string& name, Hardware hardware);

 private:
  std::string for_all_;
  mutable std::map<std::string, std::unique_ptr<Hardware>> found_;
};

/// Rows with the same programs.
struct RowGroup {
  std::vector<size_t> rows;
  std::vector<RowPlan> plans;            // by row
  std::vector<CountedProgram> programs;  // of one depth or two, once they are compiled
};

class RowPredictions {
 public:
  /// Plans all rows. Throws one UserError for all rows that contradict themselves or name something that does not
  /// exist, of which each name counts once.
  RowPredictions(std::vector<PublishedRow> rows, const RowProfiles& profiles);

  /// Compiles, prices and forgets the programs of all rows, by several threads.
  void predict();
  /// Compiles the programs of all rows and keeps them.
  void compile();
  /// Prices the programs that are kept, for the profiles as they are now: those of groups with a row for which `wanted`
  /// holds.
  void price(const std::function<bool(const PublishedRow&)>& wanted);

  const std::vector<RowResult>& results() const { return results_; }

 private:
  void compile(RowGroup& group);
  void price(const RowGroup& group);
  void refuse(size_t row, const RowRefused& refused);

  const RowProfiles& profiles_;
  std::vector<RowResult> results_;
  std::vector<RowGroup> groups_;
};

}  // namespace mtfc
