#include "runtime/processes/point_messages.h"

#include <chrono>
#include <optional>
#include <type_traits>

namespace mtfc {
namespace {

// Tags that nothing else has; MPI allows all up to 32,767.
constexpr int kQuestion = 32001, kAnswer = 32002;
// A rank that waits answers within milliseconds, unless it gets no core.
constexpr std::chrono::milliseconds kReply{2000};
static_assert(std::is_trivially_copyable_v<RankProgress>);

// The rank of a message with this tag that has arrived.
std::optional<int> arrived(MPI_Comm comm, int tag) {
  int is_there = 0;
  MPI_Status status;
  if (MPI_Iprobe(MPI_ANY_SOURCE, tag, comm, &is_there, &status) != MPI_SUCCESS || !is_there)
    return std::nullopt;
  return status.MPI_SOURCE;
}

// Nothing waits in MPI: the message has arrived.
RankProgress received(MPI_Comm comm, int rank, int tag) {
  RankProgress progress;
  MPI_Recv(&progress, sizeof progress, MPI_BYTE, rank, tag, comm, MPI_STATUS_IGNORE);
  return progress;
}

}  // namespace

void PointMessages::send(int rank, int tag) {
  std::erase_if(sent_, [](Sent& sent) {
    int done = 0;
    return MPI_Test(&sent.request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done;
  });
  Sent& sent = sent_.emplace_back();
  sent.progress = watchdog_.own_progress();
  MPI_Isend(&sent.progress, sizeof sent.progress, MPI_BYTE, rank, tag, comm_, &sent.request);
}

void PointMessages::answer() {
  while (const std::optional<int> rank = arrived(comm_, kQuestion)) {
    received(comm_, *rank, kQuestion);
    send(*rank, kAnswer);
  }
}

std::map<int, RankProgress> PointMessages::ask(const std::vector<int>& ranks) {
  for (const int rank : ranks) send(rank, kQuestion);
  std::map<int, RankProgress> answers;
  const auto end = std::chrono::steady_clock::now() + kReply;
  while (answers.size() < ranks.size() && std::chrono::steady_clock::now() < end) {
    while (const std::optional<int> rank = arrived(comm_, kAnswer))
      answers[*rank] = received(comm_, *rank, kAnswer);
    answer();
    watchdog_.beat_for(std::chrono::milliseconds(1));
  }
  return answers;
}

}  // namespace mtfc
