#include "runtime/processes/clock_offset.h"

#include <algorithm>

#include "runtime/processes/mpi_calls.h"

namespace mtfc {
namespace {

constexpr int kReadings = 8;
constexpr int kTag = 0x636c;

void send_number(int64_t number, int rank, const Waiting& waiting) {
  MPI_Request request;
  check_mpi(MPI_Isend(&number, 1, MPI_INT64_T, rank, kTag, MPI_COMM_WORLD, &request), "MPI_Isend");
  wait_for(request, waiting);
}

int64_t receive_number(int rank, const Waiting& waiting) {
  int64_t number = 0;
  MPI_Request request;
  check_mpi(MPI_Irecv(&number, 1, MPI_INT64_T, rank, kTag, MPI_COMM_WORLD, &request), "MPI_Irecv");
  wait_for(request, waiting);
  return number;
}

}  // namespace

int64_t clock_offset(Processes& processes) {
  if (!processes.uses_mpi()) return 0;
  const Waiting waiting = processes.waiting();
  if (!processes.is_root()) {
    std::vector<ClockReading> readings;
    // The first message says that it is this rank's turn with rank 0.
    receive_number(0, waiting);
    for (int i = 0; i < kReadings; ++i) {
      const int64_t sent = nanoseconds_now();
      send_number(0, 0, waiting);
      const int64_t there = receive_number(0, waiting);
      readings.push_back({sent, there, nanoseconds_now()});
    }
    return offset_of(readings);
  }
  for (int rank = 1; rank < processes.size(); ++rank) {
    send_number(0, rank, waiting);
    for (int i = 0; i < kReadings; ++i) {
      receive_number(rank, waiting);
      send_number(nanoseconds_now(), rank, waiting);
    }
  }
  return 0;
}

int64_t offset_of(const std::vector<ClockReading>& readings) {
  const auto quickest = std::min_element(
      readings.begin(), readings.end(),
      [](const ClockReading& a, const ClockReading& b) { return a.back - a.sent < b.back - b.sent; });
  if (quickest == readings.end()) return 0;
  // Rank 0 read its clock between the two local times.
  if (quickest->sent <= quickest->there && quickest->there <= quickest->back) return 0;
  return quickest->there - (quickest->sent + (quickest->back - quickest->sent) / 2);
}

}  // namespace mtfc
