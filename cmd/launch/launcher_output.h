#pragma once
// Relays the ranks' output as it comes, without the lines that MPICH's launcher (hydra) adds, and learns from
// those lines how the ranks ended.
//
//   ===================================================================================      dropped
//   =   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES                                 dropped
//   [mpiexec@node] Exit codes: [node] 0,0,9,0                         dropped: wait statuses of ranks

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mtfc {

/// The launcher's report on ranks that did not end by themselves.
struct LauncherWord {
  int signal = 0;             // the signal that killed a rank; 0: none was killed
  std::string host;           // of that rank
  std::optional<int> code;    // that the first rank to end has told, from another host
  std::vector<int> statuses;  // wait statuses by rank; ranks that the launcher then killed may be included
};

class LauncherOutput {
 public:
  /// Returns the part of `bytes`, and of what was held back before, that can be passed on. The start of a
  /// line that may turn out to be the launcher's is held back.
  std::string pass(std::string_view bytes);
  bool holds() const { return blank_lines_ > 0 || !line_.empty(); }
  /// Returns what is held back: called at the end, or when nothing has followed it for a while.
  std::string flush();
  const LauncherWord& word() const { return word_; }

 private:
  void end_line(std::string& passed);
  bool is_launchers() const;
  bool may_be_launchers() const;
  void learn();
  void release_blanks(std::string& passed);

  std::string line_;         // the part of the current line that has not been passed on
  bool line_begun_ = false;  // a part of it has been passed on
  bool in_codes_ = false;    // the line before has exit codes; a line for each other node follows
  int blank_lines_ = 0;      // held back, because the launcher's banner starts with one
  LauncherWord word_;
};

}  // namespace mtfc
