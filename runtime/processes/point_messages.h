#pragma once
// Questions about the progress of ranks whose page can't be read, and answers to them, as messages of MPI.

#include <mpi.h>

#include <list>
#include <map>
#include <vector>

#include "runtime/processes/watchdog.h"

namespace mtfc {

class PointMessages : public Inquiry {
 public:
  /// `watchdog` is this rank's own.
  PointMessages(MPI_Comm comm, const Watchdog& watchdog) : comm_(comm), watchdog_(watchdog) {}
  void answer() override;
  std::map<int, RankProgress> ask(const std::vector<int>& ranks) override;

 private:
  // A message on its way, whose memory must stay.
  struct Sent {
    MPI_Request request = MPI_REQUEST_NULL;
    RankProgress progress;
  };
  void send(int rank, int tag);

  MPI_Comm comm_;
  const Watchdog& watchdog_;
  std::list<Sent> sent_;
};

}  // namespace mtfc
