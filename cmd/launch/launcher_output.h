#pragma once
// Passes on what ranks print, as it comes, without what MPICH's launcher (hydra) adds of its own; and learns
// from the latter how the ranks ended.
//
//   ===================================================================================      dropped
//   =   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES                                 dropped
//   [mpiexec@node] Exit codes: [node] 0,0,9,0                         dropped: wait statuses of ranks

#include <string>
#include <string_view>
#include <vector>

namespace mtfc {

/// What the launcher says of ranks that did not end by themselves.
struct LauncherWord {
  int signal = 0;             // that killed a rank; 0: none was killed
  std::vector<int> statuses;  // wait statuses, in order of ranks; ranks that it killed in turn may show that
};

class LauncherOutput {
 public:
  /// What of `bytes`, and of what was held back before, is to be passed on. The start of a line that may turn
  /// out to be the launcher's is held back.
  std::string pass(std::string_view bytes);
  bool holds() const { return blank_lines_ > 0 || !line_.empty(); }
  /// What is held back: at the end, or when nothing has followed it for a while.
  std::string flush();
  const LauncherWord& word() const { return word_; }

 private:
  void end_line(std::string& passed);
  bool is_launchers() const;
  bool may_be_launchers() const;
  void learn();
  void release_blanks(std::string& passed);

  std::string line_;         // the part of the current line that was not passed on
  bool line_begun_ = false;  // a part of it was
  int blank_lines_ = 0;      // held back: the launcher's banner starts with one
  LauncherWord word_;
};

}  // namespace mtfc
