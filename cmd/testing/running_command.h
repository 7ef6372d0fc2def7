#pragma once
// A command that runs beside its test, which waits for what it does and then sends it a signal.
//
//   RunningCommand run(folder, "$MTFC run model.json --metrics log");
//   REQUIRE(eventually([&] { return run.ended() || !folder.read("log").empty(); }));
//   run.interrupt();
//   CHECK(run.exit_code() == 130);

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "core/testing/scratch_folder.h"

namespace mtfc {

class RunningCommand {
 public:
  /// Starts one program with its arguments, as a shell reads them, in `folder`; $MTFC is the program. What it
  /// prints is in the files `out` and `err` there.
  RunningCommand(const ScratchFolder& folder, const std::string& command);
  /// Kills it if it has not ended.
  ~RunningCommand();
  RunningCommand(const RunningCommand&) = delete;
  RunningCommand& operator=(const RunningCommand&) = delete;

  void interrupt() const;
  void send(int signal) const;
  pid_t process() const { return process_; }
  /// Suspends the process until resume(). It keeps its files and locks, and uses no processor time.
  void pause() const;
  void resume() const;
  bool ended();
  /// Waits for the end; -1 where a signal ended it.
  int exit_code();

 private:
  bool look(int options);

  pid_t process_ = 0;
  std::optional<int> status_;
};

/// Asks again and again whether it has `happened`; false where it has not within two minutes.
bool eventually(const std::function<bool()>& happened);

/// The process that is rank `rank` of the run whose command line contains `word`; 0 if there is none.
pid_t rank_process(const std::string& word, int rank);

}  // namespace mtfc
