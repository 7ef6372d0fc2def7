#include "runtime/comm/mpi/node_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <exception>

#include "core/diagnostics/error.h"
#include "runtime/processes/blocking_call.h"
#include "runtime/processes/mpi_calls.h"
#include "runtime/processes/shared_files.h"

#ifndef MADV_POPULATE_WRITE  // since Linux 5.14
#define MADV_POPULATE_WRITE 23
#endif

namespace mtfc {
namespace {

constexpr int kGroupPages = 64;
// Window sizes are powers of two, and at least this large, so that few windows are made. Unused room costs
// nothing.
constexpr int64_t kSmallestWindow = int64_t{1} << 24;

int64_t whole_pages(int64_t bytes) {
  const int64_t page = sysconf(_SC_PAGESIZE);
  return std::max<int64_t>((bytes + page - 1) / page, 1) * page;
}

int64_t pages_bytes() {
  return whole_pages(kGroupPages * static_cast<int64_t>(sizeof(GroupPage)));
}

// Backs the memory with pages; returns false if there is too little. Older systems can't do this, but the
// free memory has been checked before.
bool populate(std::byte* start, int64_t bytes) {
  return madvise(start, static_cast<size_t>(bytes), MADV_POPULATE_WRITE) == 0 || errno == EINVAL;
}

// Gives the memory back; it reads as zero when it is used again.
void empty(std::byte* start, int64_t bytes) {
  if (madvise(start, static_cast<size_t>(bytes), MADV_REMOVE) != 0)
    std::memset(start, 0, static_cast<size_t>(bytes));
}

}  // namespace

struct NodeMemory::Messages {
  MPI_Comm comm = MPI_COMM_NULL;  // spans the ranks of the node
  bool is_own = false;            // not that of Processes
};

struct NodeMemory::Window {
  MPI_Win handle = MPI_WIN_NULL;
  int64_t alone = 0;                      // bytes of memory that is not MPI's, if the rank is alone on its
                                          // node
  int64_t bytes = 0;                      // size of each rank's arena room
  std::vector<std::byte*> pages, starts;  // by position; `pages`, for groups, in the first window only
  bool taken = false;

  // Returns the starts of the memory of every rank of `comm`, by rank.
  std::vector<std::byte*> allocate(int64_t size, size_t ranks, MPI_Comm comm);
  void free();
};

std::vector<std::byte*> NodeMemory::Window::allocate(int64_t size, size_t ranks, MPI_Comm comm) {
  std::vector<std::byte*> found;
  if (ranks == 1) {
    // MPI's memory would not begin at a page.
    void* own = mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (own == MAP_FAILED) throw RunError(fmt::format("can't get shared memory: {}", std::strerror(errno)));
    alone = size;
    return {static_cast<std::byte*>(own)};
  }
  void* own = nullptr;
  check_mpi(MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, comm, &own, &handle), "MPI_Win_allocate_shared");
  // Processors of one node keep their caches coherent, which MPI calls the unified model; the atomics of
  // NodeBarrier then order loads and stores, and MPI_Win_sync would add nothing.
  check_mpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, handle), "MPI_Win_lock_all");
  for (size_t rank = 0; rank < ranks; ++rank) {
    MPI_Aint room = 0;
    int unit = 0;
    void* start = nullptr;
    check_mpi(MPI_Win_shared_query(handle, static_cast<int>(rank), &room, &unit, &start),
              "MPI_Win_shared_query");
    check_invariant(std::bit_cast<uintptr_t>(start) % static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)) == 0,
                    "shared memory does not begin at a page");
    found.push_back(static_cast<std::byte*>(start));
  }
  return found;
}

void NodeMemory::Window::free() {
  if (alone > 0) {
    munmap(pages[0], static_cast<size_t>(alone));
    return;
  }
  MPI_Win_unlock_all(handle);
  MPI_Win_free(&handle);
}

NodeMemory::NodeMemory(Processes& processes, NodeOptions options)
    : processes_(processes), options_(std::move(options)), mpi_(std::make_unique<Messages>()) {
  find_neighbours();
}

NodeMemory::~NodeMemory() {
  // While an error unwinds, the other ranks are still working, and freeing would wait for them.
  int finalized = 0;
  if (std::uncaught_exceptions() > 0 || MPI_Finalized(&finalized) != MPI_SUCCESS || finalized) return;
  groups_.clear();
  const BlockingCall call(*processes_.watchdog(), "MPI_Win_free");
  for (const std::unique_ptr<Window>& window : windows_) window->free();
  if (mpi_->is_own) MPI_Comm_free(&mpi_->comm);
}

void NodeMemory::find_neighbours() {
  const int rank = processes_.rank();
  nodes_.assign(static_cast<size_t>(processes_.size()), rank);
  neighbours_ = {rank};
  if (processes_.size() == 1 || options_.shared_bytes == 0 || options_.ranks_per_node == 1) {
    for (size_t i = 0; i < nodes_.size(); ++i) nodes_[i] = static_cast<int>(i);
    return;
  }
  nodes_ = processes_.nodes();
  mpi_->comm = NodeCommunicator::of(processes_);
  if (options_.ranks_per_node > 0) split_node();
  const int own = nodes_[static_cast<size_t>(rank)];
  neighbours_.clear();
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i] == own) neighbours_.push_back(static_cast<int>(i));
    shares_ |= nodes_[i] != static_cast<int>(i);
  }
}

// Makes each group of consecutive ranks a node.
void NodeMemory::split_node() {
  const int rank = processes_.rank();
  {
    const BlockingCall call(*processes_.watchdog(), "MPI_Comm_split");
    check_mpi(
        MPI_Comm_split(NodeCommunicator::of(processes_), rank / options_.ranks_per_node, rank, &mpi_->comm),
        "MPI_Comm_split");
  }
  mpi_->is_own = true;
  check_mpi(MPI_Comm_set_errhandler(mpi_->comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  // The lowest rank of each node decides, because a group may lie on two real nodes.
  int own = rank;
  MPI_Request request;
  check_mpi(MPI_Ibcast(&own, 1, MPI_INT, 0, mpi_->comm, &request), "MPI_Ibcast");
  wait_for(request, processes_.waiting());
  check_mpi(MPI_Iallgather(&own, 1, MPI_INT, nodes_.data(), 1, MPI_INT, MPI_COMM_WORLD, &request),
            "MPI_Iallgather");
  wait_for(request, processes_.waiting());
}

size_t NodeMemory::position(int64_t rank) const {
  const auto found = std::lower_bound(neighbours_.begin(), neighbours_.end(), rank);
  check_invariant(found != neighbours_.end() && *found == rank, "a rank is not of this node");
  return static_cast<size_t>(found - neighbours_.begin());
}

// Returns whether every node has room for `bytes` more on each of its ranks; the smallest answer decides.
bool NodeMemory::may_share(int64_t bytes) {
  const int64_t needed = bytes * static_cast<int64_t>(neighbours_.size());
  const int64_t room = std::min(free_shared_memory(), options_.shared_bytes);
  const int64_t lacking = processes_.maximum(std::max<int64_t>(needed - room, 0));
  if (lacking == 0) return true;
  const auto megabytes = [](int64_t n) { return static_cast<double>(n) / 1e6; };
  if (options_.warn && processes_.is_root())
    options_.warn(
        fmt::format("the ranks of a node share no memory and exchange messages instead, which is slower: "
                    "there are {:.1f} MB of /dev/shm for them, but they need {:.1f} MB",
                    megabytes(needed - lacking), megabytes(needed)));
  options_.warn = nullptr;
  return false;
}

Arena NodeMemory::arena(int64_t bytes) {
  if (!shares_) return Arena(bytes);
  require_memory(bytes * static_cast<int64_t>(neighbours_.size()));
  const int64_t rounded = whole_pages(bytes);
  Window* window = claim(rounded);
  if (!window) return Arena(bytes);
  std::byte* start = window->starts[position(processes_.rank())];
  return {start, bytes, [start, rounded, window] {
            empty(start, rounded);
            window->taken = false;
          }};
}

// Returns a window with room for an arena of `bytes`, all of them backed by memory; nullptr if memory can't
// be shared.
NodeMemory::Window* NodeMemory::claim(int64_t bytes) {
  if (!may_share(bytes + (windows_.empty() ? pages_bytes() : 0))) return nullptr;
  const auto fits = [&](const std::unique_ptr<Window>& window) {
    return !window->taken && window->bytes >= bytes;
  };
  const auto found = std::find_if(windows_.begin(), windows_.end(), fits);
  Window& window = found == windows_.end() ? make_window(bytes) : **found;
  std::byte* start = window.starts[position(processes_.rank())];
  if (processes_.maximum(!populate(start, bytes)) > 0) {
    // Another program has taken the memory in the meantime.
    empty(start, bytes);
    options_.shared_bytes = 0;
    may_share(bytes);
    return nullptr;
  }
  window.taken = true;
  return &window;
}

NodeMemory::Window& NodeMemory::make_window(int64_t bytes) {
  auto window = std::make_unique<Window>();
  window->bytes =
      std::max(kSmallestWindow, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(bytes))));
  const int64_t pages = windows_.empty() ? pages_bytes() : 0;
  {
    const MakesSharedFiles making;
    const BlockingCall call(*processes_.watchdog(), "MPI_Win_allocate_shared");
    for (std::byte* start : window->allocate(pages + window->bytes, neighbours_.size(), mpi_->comm)) {
      window->pages.push_back(start);
      window->starts.push_back(start + pages);
    }
  }
  // Nobody may read a counter before all are zero.
  empty(window->pages[position(processes_.rank())], pages + window->bytes);
  processes_.barrier();
  windows_.push_back(std::move(window));
  return *windows_.back();
}

std::vector<std::byte*> NodeMemory::starts_of(const Arena& arena) const {
  for (const std::unique_ptr<Window>& window : windows_)
    if (window->starts[position(processes_.rank())] == arena.at(0)) return window->starts;
  return {};
}

NodeGroup* NodeMemory::group(const std::string& name, const std::vector<int64_t>& ranks) {
  if (windows_.empty()) return nullptr;
  const auto known = groups_.find(name);
  if (known != groups_.end()) return known->second.get();
  std::unique_ptr<NodeGroup>& group = groups_[name];
  if (pages_used_ == kGroupPages) return nullptr;
  const int page = pages_used_++;
  std::vector<GroupPage*> pages;
  size_t self = 0;
  for (const int64_t rank : ranks) {
    if (of(rank) != of(processes_.rank())) continue;
    if (rank == processes_.rank()) self = pages.size();
    pages.push_back(reinterpret_cast<GroupPage*>(windows_.front()->pages[position(rank)]) + page);
  }
  group = std::make_unique<NodeGroup>(std::move(pages), self, processes_.waiting());
  return group.get();
}

}  // namespace mtfc
