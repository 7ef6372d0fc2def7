#pragma once
// Connections between the hosts of a run, beside those of MPI. Nothing is sent over them but a greeting: they serve to
// notice that a host no longer answers.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/processes/unique_fd.h"

namespace mtfc {

/// The addresses of this host that others may reach, as digits.
std::vector<std::string> own_addresses();
/// A number that nobody can guess: it proves that a connection is of the same run.
uint64_t random_token();
/// Listens at any port, by both versions of IP where the system has them, and sets `port`. Returns none if it can't.
UniqueFd listen_anywhere(int& port);
/// Connects to one of a host's addresses, all of which it tries at the same time. It leaves out those that this host
/// has too, as bridges for containers do, since they would lead back to it. Returns none if there is no connection
/// within `patience`, or once `stop`, unless negative, is readable.
UniqueFd connect_to(const std::vector<std::string>& addresses, int port, std::chrono::milliseconds patience,
                    int stop = -1);
/// Accepts connections until one of them says `token`, and closes the others. Those that are silent delay nobody.
/// Returns none after `patience`, or once `stop`, unless negative, is readable.
UniqueFd accept_known(int listener, uint64_t token, std::chrono::milliseconds patience, int stop = -1);
/// The time until then, for poll().
int milliseconds_until(std::chrono::steady_clock::time_point then);
/// From now on, the system asks the other host every second whether it still has the connection. If the host does not
/// answer for five to six seconds, the connection ends with an error.
void ask_whether_alive(int socket);

/// The change of a connection that poll() has reported.
enum class LineEvent {
  kNothing,
  kByte,    // the other end has sent something
  kClosed,  // the other process has closed it, or has ended
  kLost,    // the other host does not answer
};
LineEvent look_at_line(int socket);

}  // namespace mtfc
