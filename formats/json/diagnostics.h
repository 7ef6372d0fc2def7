#pragma once
// Collects the mistakes of one input file, so that several are reported at once. A reader records an error
// and goes on as far as that makes sense; finish() throws if any was recorded.

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
  /// Between enter_call and leave_call, everything recorded is about one call of a block: `chain` is appended
  /// to every message, and an error at a location where an earlier call has had one is not repeated. Calls
  /// nest.
  void enter_call(std::string chain);
  void leave_call() { calls_.pop_back(); }
  /// Counts something that can't be read because of an error reported elsewhere; nothing is printed for it.
  void consequence() { ++consequences_; }
  /// Returns whether `mistake` is passed for the first time: a name that is missing once would otherwise be
  /// reported at each of its uses.
  bool is_new(const std::string& mistake) { return mistakes_.insert(mistake).second; }
  bool failed() const { return !errors_.empty(); }
  size_t error_count() const { return errors_.size() + consequences_; }

  /// Throws one UserError with all errors in the order of the files, spelling out the first kMostShown of
  /// them. Without errors, appends the warnings to `warnings`, in the order of the files.
  void finish(std::vector<Diagnostic>& warnings);
  static constexpr size_t kMostShown = 20;

 private:
  using Place = std::tuple<std::string, int, int>;
  struct Call {
    int number;  // counted over all calls
    std::string chain;
  };
  bool is_repeated(const Location& location);

  std::vector<Diagnostic> errors_;
  std::vector<Diagnostic> warnings_;
  std::set<std::string> mistakes_;
  size_t consequences_ = 0;
  std::vector<Call> calls_;  // open calls, the innermost last
  int call_count_ = 0;
  std::map<Place, int> blamed_;  // locations of errors, and the first call that had one there
  std::set<Place> warned_;
};

}  // namespace mtfc
