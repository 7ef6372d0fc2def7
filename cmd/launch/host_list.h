#pragma once
// The hosts of a run, as --hosts names them, and the ranks on each.
//
//   a:2,b:2      at most two ranks on each
//   a,b          as many on each, as far as possible: of 5 ranks, 3 on a and 2 on b

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/options/command_line.h"

namespace mtfc {

struct Host {
  std::string name;
  int64_t ranks = 0;  // 0 in a list without numbers
  bool operator==(const Host&) const = default;
};

/// The form of --hosts.
ValueCheck list_of_hosts();
/// Reads a text that list_of_hosts() accepts. Where only some hosts have a number, the others have 1.
std::vector<Host> parse_hosts(const std::string& text);
/// The number of ranks that there is room for; -1 if the list has no numbers.
int64_t room(const std::vector<Host>& hosts);
/// Places `ranks` on the hosts in their order, and leaves out hosts that get none. Throws UserError if there is too
/// little room.
std::vector<Host> placed(const std::vector<Host>& hosts, int64_t ranks);
/// `a:2,b:2`, as MPICH's launcher takes it.
std::string to_string(const std::vector<Host>& hosts);

}  // namespace mtfc
