#pragma once
// The job that this process belongs to, beside MPI: the launcher above it, which ends all ranks when asked to, and
// whose death must not leave ranks behind. MPI itself can do neither while it waits, or before it has started.

#include <pthread.h>
#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "runtime/processes/unique_fd.h"

namespace mtfc {

/// True if a launcher that speaks PMI has started this process.
bool is_rank_of_job();
/// The number that the launcher has given to this process; 0 for a process without a launcher.
int rank_in_job();
/// The number of ranks that the launcher has started; 1 for a process without a launcher.
int ranks_in_job();
/// The name of the host that this process is on.
std::string host_name();

/// A rank that the same launcher has started on this host.
struct JobNeighbour {
  int rank = -1;  // -1: the launcher has not said
  pid_t process = 0;
  bool is_stopped = false;  // by a signal or a debugger, or it has ended and nobody has noticed
};
/// All ranks of this host, this one too, as far as the system shows them.
std::vector<JobNeighbour> job_neighbours();
/// The processes that `process` has started and that have not been waited for.
std::vector<pid_t> children_of(pid_t process);
/// The value of a line of /proc/PID/status, such as `State`; "" if there is none.
std::string status_of(pid_t process, const std::string& key);
/// Returns whether a process does not run because it is stopped or has ended.
bool is_stopped(pid_t process);
/// Returns whether a process has ended with another exit code than 0, or by a signal, and nobody has waited for it yet.
bool has_failed(pid_t process);
/// The rank that a launcher has given to a process; -1: none.
int rank_of(pid_t process);

/// Names a descriptor to which this process writes, as one byte, the code that it ends with. The process that has
/// started the launcher reads it there, because the launcher may lose it: MPICH's exits with 0 at times when it gets a
/// signal.
void set_code_channel(int file);
/// For a rank on another host than that process: writes the code to standard error instead, as a line that begins with
/// kCodeLine, which the process reads from the launcher.
void tell_code_by_line();
inline constexpr const char* kCodeLine = "[mtfc] exit code ";
/// Writes the code, where there is a channel.
void tell_code(int code);

/// Asks the launcher to end all ranks, so that it exits with `code`, and ends this process. Any thread may call it,
/// whatever the others do. It gives the launcher the time to read what was printed before.
[[noreturn]] void end_job(int code);

/// Does the same if another host no longer answers, so that the launcher may not be reached, or may wait for that host:
/// if it has not ended this process within a second, this ends all ranks of this host, and the launcher's proxy on it.
[[noreturn]] void end_cut_off_job(int code);

/// True if MPICH's launcher has started this process.
bool is_under_mpich_launcher();
/// True if MPICH's proxy above this process waits for the end of its ranks, and so does not hear them. It does that
/// after a signal that comes while ranks start; otherwise it listens to them. False where the system does not show it.
bool launcher_is_deaf();

/// Ends this process, which is done as all other ranks are, with the code on which they have agreed. MPICH's launcher
/// ends the others too: those that wait for each other in it would fail when one leaves. Another launcher is told that
/// this rank is done, as MPI_Finalize does, so that it does not take its end for a failure. `waiting`: the thread that
/// waits in MPI_Finalize; it is stopped, because it would take the launcher's answer for one to itself, and fail.
[[noreturn]] void leave_job(int code, pthread_t waiting);

/// A connection to the process of another host that has started the launcher. When it ends, so do the ranks of this
/// host, as end_cut_off_job() says.
void set_supervisor(UniqueFd connection);
/// The ranks of this host will end in the same way if MPI has not begun after `time`.
void await_mpi(std::chrono::seconds time);
/// To be called once MPI has begun.
void note_mpi_has_begun();
/// A descriptor that becomes readable when the ranks of this host are to end; -1: none.
int supervisor();

/// Descriptors that become readable when a process dies on which this rank depends: MPICH's proxy, which has started
/// it, and the launcher (or remote shell) that has started the proxy. Empty without MPICH's proxy.
std::vector<UniqueFd> launchers_alive();

}  // namespace mtfc
