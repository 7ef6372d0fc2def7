#include "runtime/processes/processes.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <mutex>
#include <thread>

#include "core/diagnostics/error.h"
#include "core/tensors/random_bits.h"
#include "runtime/processes/blocking_call.h"
#include "runtime/processes/job.h"
#include "runtime/processes/mpi_calls.h"
#include "runtime/processes/point_messages.h"
#include "runtime/processes/shared_files.h"
#include "runtime/processes/watchdog.h"

namespace mtfc {
namespace {

// The node, cores and progress page of a rank, as the ranks tell each other.
struct Spot {
  int node = 0;     // its lowest rank
  cpu_set_t cores;  // usable ones; launchers bind ranks to some of the node's
  ProgressPage page;
  ino_t numbering = 0;  // of processes, which differs between containers
};

Spot own_spot(int node = 0, const ProgressPage& page = {}) {
  Spot spot;
  spot.node = node;
  struct stat numbering = {};
  if (stat("/proc/self/ns/pid", &numbering) == 0) spot.numbering = numbering.st_ino;
  CPU_ZERO(&spot.cores);
  spot.page = page;
  if (sched_getaffinity(0, sizeof spot.cores, &spot.cores) != 0) CPU_SET(0, &spot.cores);
  return spot;
}

}  // namespace

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  throw RunError(fmt::format("{} failed: {}", call, std::string(text, static_cast<size_t>(length))));
}

void wait_for(MPI_Request& request, const Waiting& waiting, std::span<const int64_t> ranks) {
  Patience patience(waiting.watchdog, ranks);
  for (int done = 0;;) {
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done) return;
    if (waiting.yields) sched_yield();
    patience.poll();
  }
}

struct Processes::State {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm node = MPI_COMM_NULL;  // the ranks of this node; none where there is one rank in all
  bool started = false;           // by this object, which then has to end it
};

Processes::Processes() = default;
Processes::Processes(Processes&&) noexcept = default;
Processes Processes::alone() {
  static const HostCores cores(own_spot().cores);  // takes milliseconds to find
  Processes one;
  one.cores_ = cores;
  return one;
}

namespace {

// MPICH's messages take this much of /dev/shm per rank, and more while many are under way.
constexpr int64_t kMessageBytes = int64_t{64} << 20;
// MPICH itself needs some pages there, whatever carries its messages.
constexpr int64_t kLeastShared = int64_t{64} << 10;

// The ranks on this node that the launcher has started; 1 if it does not say.
int64_t ranks_here() {
  for (const char* variable : {"MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE", "SLURM_NTASKS"})
    if (const char* ranks = std::getenv(variable)) return std::max(1, std::atoi(ranks));
  return 1;
}

// Returns whether UCX may use TCP if UCX_TLS has this value, such as `all`, `tcp,self` or `^posix`. If the variable is
// not set (nullptr), UCX may use every transport.
bool may_use_tcp(const char* transports) {
  if (!transports || std::strcmp(transports, "all") == 0) return true;
  const bool are_excluded = transports[0] == '^', has_tcp = std::strstr(transports, "tcp") != nullptr;
  return are_excluded != has_tcp;
}

// Chooses how MPICH on UCX sends messages; a value that the user has set is kept. With all ranks on one node,
// messages need shared memory only. By default UCX also reads other ranks' memory (CMA), which ends a rank with a
// stack trace when another has died, before the launcher can say which one it was; and it keeps TCP connections, which
// cost time. If /dev/shm is small, as in a container, messages go through the shared memory of System V, which is not
// there: UCX would end the rank in the middle of a run when /dev/shm is full.
//
// Over TCP, each call that lets messages move sends or receives at most one segment, and between two kernels there is
// one such call for each collective that is under way. Segments have 8 KB by default, so that most of a large gradient
// would still be left to send when the kernels are done. UCX warns of settings that it does not use.
void choose_transports() {
  const char *here = std::getenv("MPI_LOCALNRANKS"),
             *all = std::getenv("PMI_SIZE");  // set by MPICH's launcher
  const bool is_small = free_shared_memory() < ranks_here() * kMessageBytes;
  if (here && all && std::strcmp(here, all) == 0) {
    setenv("UCX_TLS", is_small ? "sysv,self" : "posix,sysv,self", 0);
    return;
  }
  if (is_small) setenv("UCX_TLS", "^posix", 0);
  if (!may_use_tcp(std::getenv("UCX_TLS"))) return;
  setenv("UCX_TCP_TX_SEG_SIZE", "256k", 0);
  setenv("UCX_TCP_RX_SEG_SIZE", "256k", 0);
}

// MPI would end the process with a stack of its calls.
void require_shared_memory() {
  const int64_t free = free_shared_memory();
  if (ranks_here() == 1 || free >= kLeastShared) return;
  throw RunError(
      fmt::format("/dev/shm has {} bytes of free memory, but MPI needs {} to start several ranks on a node",
                  free, kLeastShared));
}

}  // namespace

int64_t free_shared_memory() {
  struct statvfs info;
  if (statvfs("/dev/shm", &info) != 0) return 0;
  return static_cast<int64_t>(info.f_bavail) * static_cast<int64_t>(info.f_frsize);
}

Processes Processes::start(Watchdog& watchdog) {
  Processes processes;
  processes.watchdog_ = &watchdog;
  processes.state_ = std::make_unique<State>();
  int initialized = 0, provided = 0;
  check_mpi(MPI_Initialized(&initialized), "MPI_Initialized");
  if (!initialized) {
    require_shared_memory();
    choose_transports();
    const MakesSharedFiles making;
    const BlockingCall call(watchdog, "MPI_Init");
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
    processes.state_->started = true;
  }
  processes.state_->comm = MPI_COMM_WORLD;
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &processes.rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &processes.size_), "MPI_Comm_size");
  processes.find_neighbours();
  return processes;
}

MPI_Comm NodeCommunicator::of(const Processes& processes) {
  return processes.state_->node;
}

// MPI knows best which ranks share memory. Splitting blocks.
void Processes::find_node() {
  if (size_ == 1) return;
  int own = rank_;
  {
    const BlockingCall call(*watchdog_, "MPI_Comm_split_type");
    check_mpi(MPI_Comm_split_type(state_->comm, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &state_->node),
              "MPI_Comm_split_type");
  }
  check_mpi(MPI_Comm_set_errhandler(state_->node, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  MPI_Request request;
  check_mpi(MPI_Ibcast(&own, 1, MPI_INT, 0, state_->node, &request), "MPI_Ibcast");
  wait_for(request, waiting());
  nodes_.resize(static_cast<size_t>(size_));
  check_mpi(MPI_Iallgather(&own, 1, MPI_INT, nodes_.data(), 1, MPI_INT, state_->comm, &request),
            "MPI_Iallgather");
  wait_for(request, waiting());
}

void Processes::find_neighbours() {
  find_node();
  const Spot own = own_spot(nodes_[static_cast<size_t>(rank_)], watchdog_->own_page());
  std::vector<Spot> spots(static_cast<size_t>(size_));
  all_gather(&own, sizeof own, spots.data());
  cpu_set_t cores = own.cores;
  ranks_on_node_ = 0;
  std::vector<ProgressPage> pages;
  bool sees_all = true;
  for (const Spot& spot : spots) {
    const bool is_here = spot.node == own.node;
    several_nodes_ |= !is_here;
    pages.push_back(is_here && spot.numbering == own.numbering ? spot.page : ProgressPage{});
    sees_all &= pages.back().process != 0;
    if (!is_here) continue;
    if (pages.size() <= static_cast<size_t>(rank_)) ++index_on_node_;
    ++ranks_on_node_;
    if (!CPU_EQUAL(&own.cores, &spot.cores)) bound_by_launcher_ = true;
    CPU_OR(&cores, &cores, &spot.cores);
  }
  watchdog_->set_ranks(rank_, std::move(pages));
  if (index_on_node_ == 0 && ranks_on_node_ > 1) remove_left_files();
  if (!sees_all) watchdog_->set_inquiry(std::make_unique<PointMessages>(state_->comm, *watchdog_));
  cores_ = HostCores(cores);
}

Waiting Processes::waiting() const {
  check_invariant(watchdog_ != nullptr, "a process alone waits for others");
  return {*watchdog_, oversubscribed()};
}

void Processes::keep_to_share(int threads) const {
  const int cores = cores_.cores(), ranks = ranks_on_node_;
  const bool are_shared = ranks > cores && ranks % cores == 0 && threads == 1;
  const bool are_spread = ranks > 1 && ranks * threads <= cores && cores_.memories() > 1;
  if (bound_by_launcher_ || !(are_shared || are_spread)) return;
  const cpu_set_t share = are_shared ? cores_.share(index_on_node_ / (ranks / cores), cores)
                                     : cores_.share(index_on_node_, ranks);
  if (CPU_COUNT(&share) > 0)
    sched_setaffinity(0, sizeof share, &share);  // if this fails, the rank stays where it is
}

Processes::~Processes() {
  // While an error unwinds, the other ranks are still at work, and MPI_Finalize would wait for them.
  if (std::uncaught_exceptions() > 0) return;
  try {
    finish();
  } catch (const std::exception& error) {
    std::cerr << fmt::format("mtfc: error: rank {}: {}\n", rank_, error.what()) << std::flush;
    abort(kExitRunFailed);
  }
}

namespace {

// Connecting each of more ranks with each takes longer than it saves.
constexpr int kMostConnected = 256;
constexpr int kFarewell = 1;  // the tag of its messages
// Exit codes above this one stand for signals.
constexpr int kSignalled = 128;
// By then MPI ends where it ends at all: that takes a fraction of a second, and some more with thousands of ranks.
constexpr std::chrono::milliseconds kEnding{1500}, kEndingPerRank{5};

// Ends MPI; where that takes too long, ends the process instead.
void finalize(int code, int ranks) {
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
  const auto until = std::chrono::steady_clock::now() + kEnding + ranks * kEndingPerRank;
  const std::jthread bound([&, until, self = pthread_self()] {
    std::unique_lock lock(mutex);
    if (changed.wait_until(lock, until, [&] { return ended; })) return;
    std::cout.flush();
    std::fflush(nullptr);
    leave_job(code, self);
  });
  MPI_Finalize();
  const std::lock_guard lock(mutex);
  ended = true;
  changed.notify_one();
}

}  // namespace

// Exchanges a byte with every rank, where there are several nodes. MPICH before 4.2 over UCX ends in a barrier of the
// launcher, in which ranks that have closed their connections no longer answer those that have not. A connection that
// has been used needs no answer to be closed, or hardly ever; one that has only been prepared does.
void Processes::connect_all() {
  if (!several_nodes_ || size_ > kMostConnected) return;
  std::vector<char> bytes(2 * static_cast<size_t>(size_));
  std::vector<MPI_Request> requests;
  for (int other = 0; other < size_; ++other) {
    if (other == rank_) continue;
    char* const pair = &bytes[2 * static_cast<size_t>(other)];
    check_mpi(MPI_Irecv(pair, 1, MPI_BYTE, other, kFarewell, state_->comm, &requests.emplace_back()),
              "MPI_Irecv");
    check_mpi(MPI_Isend(pair + 1, 1, MPI_BYTE, other, kFarewell, state_->comm, &requests.emplace_back()),
              "MPI_Isend");
  }
  for (MPI_Request& request : requests) wait_for(request, waiting());
}

void Processes::finish(int code) {
  if (!state_ || !state_->started) return;
  int finalized = 0;
  if (MPI_Finalized(&finalized) != MPI_SUCCESS || finalized) return;
  connect_all();
  barrier();
  watchdog_->set_inquiry(nullptr);
  // After a signal, MPICH's launcher loses the codes of ranks that end by themselves, but not the one that it is told.
  if (code > kSignalled && is_under_mpich_launcher()) end_job(code);
  finalize(code, size_);
}

void Processes::barrier() {
  if (!state_) return;
  watchdog_->pass();
  MPI_Request request;
  check_mpi(MPI_Ibarrier(state_->comm, &request), "MPI_Ibarrier");
  wait_for(request, waiting());
}

void Processes::broadcast(std::string& bytes) {
  if (!state_) return;
  watchdog_->pass();
  uint64_t length = bytes.size();
  MPI_Request request;
  check_mpi(MPI_Ibcast(&length, 1, MPI_UINT64_T, 0, state_->comm, &request), "MPI_Ibcast");
  wait_for(request, waiting());
  bytes.resize(length);
  check_mpi(MPI_Ibcast_c(bytes.data(), static_cast<MPI_Count>(length), MPI_BYTE, 0, state_->comm, &request),
            "MPI_Ibcast_c");
  wait_for(request, waiting());
}

int64_t Processes::maximum(int64_t value) {
  maximum(std::span<int64_t>(&value, 1));
  return value;
}

void Processes::maximum(std::span<int64_t> values) {
  all_reduce(values, false);
}

void Processes::sum(std::span<int64_t> values) {
  all_reduce(values, true);
}

void Processes::all_reduce(std::span<int64_t> values, bool adds) {
  if (!state_) return;
  watchdog_->pass();
  MPI_Request request;
  check_mpi(MPI_Iallreduce_c(MPI_IN_PLACE, values.data(), static_cast<MPI_Count>(values.size()), MPI_INT64_T,
                             adds ? MPI_SUM : MPI_MAX, state_->comm, &request),
            "MPI_Iallreduce_c");
  wait_for(request, waiting());
}

void Processes::all_gather(const void* own, size_t bytes, void* all) {
  if (!state_) {
    std::memcpy(all, own, bytes);
    return;
  }
  watchdog_->pass();
  MPI_Request request;
  const auto count = static_cast<MPI_Count>(bytes);
  check_mpi(MPI_Iallgather_c(own, count, MPI_BYTE, all, count, MPI_BYTE, state_->comm, &request),
            "MPI_Iallgather_c");
  wait_for(request, waiting());
}

std::vector<uint64_t> Processes::all_gather(uint64_t value) {
  std::vector<uint64_t> values(static_cast<size_t>(size_));
  all_gather(&value, sizeof value, values.data());
  return values;
}

std::vector<std::string> Processes::gather(const std::string& bytes) {
  if (!state_) return {bytes};
  watchdog_->pass();
  const std::vector<uint64_t> lengths = all_gather(bytes.size());
  std::vector<MPI_Count> counts;
  std::vector<MPI_Aint> offsets;
  MPI_Aint total = 0;
  for (const uint64_t length : lengths) {
    counts.push_back(static_cast<MPI_Count>(length));
    offsets.push_back(total);
    total += static_cast<MPI_Aint>(length);
  }
  std::string all(is_root() ? static_cast<size_t>(total) : 0, '\0');
  MPI_Request request;
  check_mpi(MPI_Igatherv_c(bytes.data(), static_cast<MPI_Count>(bytes.size()), MPI_BYTE, all.data(),
                           counts.data(), offsets.data(), MPI_BYTE, 0, state_->comm, &request),
            "MPI_Igatherv_c");
  wait_for(request, waiting());
  std::vector<std::string> parts;
  if (is_root())
    for (size_t i = 0; i < counts.size(); ++i)
      parts.push_back(all.substr(static_cast<size_t>(offsets[i]), static_cast<size_t>(counts[i])));
  return parts;
}

void Processes::require_equal(std::string_view what, std::string_view bytes) {
  const std::vector<uint64_t> hashes = all_gather(hash_bytes(bytes));
  std::vector<int> others;
  for (size_t i = 1; i < hashes.size(); ++i)
    if (hashes[i] != hashes[0]) others.push_back(static_cast<int>(i));
  if (others.empty()) return;
  throw AgreedError(fmt::format("{} {} another {} than rank 0", rank_text(others),
                                others.size() == 1 ? "has" : "have", what));
}

void Processes::require_success(const std::string& message) {
  const int64_t none = size_;
  const int64_t first = -maximum(message.empty() ? -none : -static_cast<int64_t>(rank_));
  if (first == none) return;
  // Rank 0 collects the messages, so that all ranks throw the same text.
  std::vector<std::string> messages = gather(message);
  std::string text = is_root() ? messages[static_cast<size_t>(first)] : "";
  broadcast(text);
  throw AgreedError(size_ > 1 ? fmt::format("rank {}: {}", first, text) : text);
}

void Processes::abort(int code) {
  std::fflush(nullptr);
  std::cout.flush();
  // MPI_Abort does the same with these launchers, but also prints a line about itself.
  if (state_ && is_rank_of_job()) end_job(code);
  if (state_) MPI_Abort(state_->comm, code);
  std::_Exit(code);
}

}  // namespace mtfc
