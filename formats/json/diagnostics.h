#pragma once
// Collects what is wrong with one input file, so that several mistakes are reported in one go. A reader
// records and goes on as far as it makes sense; finish() throws when an error was recorded.

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/diagnostics/error.h"

namespace mtfc {

class DiagnosticSink {
 public:
  void error(Location location, std::string message, std::string hint = "");
  void warning(Location location, std::string message, std::string hint = "");
  /// Between the two everything is said about one call of a block: `chain` ends every message, and a mistake
  /// at a place that an earlier call has had one at is not said again. Calls nest.
  void enter_call(std::string chain);
  void leave_call() { calls_.pop_back(); }
  /// Something can't be read because of an error reported elsewhere: counted, and not said again.
  void consequence() { ++consequences_; }
  /// Whether this is the first time that `mistake` is asked about: what is missing once would otherwise be
  /// reported at each of its uses.
  bool is_new(const std::string& mistake) { return mistakes_.insert(mistake).second; }
  bool failed() const { return !errors_.empty(); }
  size_t error_count() const { return errors_.size() + consequences_; }

  /// Throws one UserError with all errors in the order of the files, the first kMostShown of them spelled
  /// out. Otherwise appends the warnings to `warnings`, in the order of the files.
  void finish(std::vector<Diagnostic>& warnings);
  static constexpr size_t kMostShown = 20;

 private:
  using Place = std::tuple<std::string, int, int>;
  struct Call {
    int number;  // which call of all
    std::string chain;
  };
  bool is_repeated(const Location& location);

  std::vector<Diagnostic> errors_;
  std::vector<Diagnostic> warnings_;
  std::set<std::string> mistakes_;
  size_t consequences_ = 0;
  std::vector<Call> calls_;  // those that are open, the innermost last
  int call_count_ = 0;
  std::map<Place, int> blamed_;  // by the first call that did
  std::set<Place> warned_;
};

}  // namespace mtfc
