#pragma once
// Threads for loops of some microseconds, such as those of generating text token by token. OpenMP takes 4 us to begin a
// loop and to end it, and calls the system. A team takes less than one, and while some of its threads have nothing to
// do, they read ahead what later loops need from memory: reading weights is most of the time of a token.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace mtfc {

class Team {
 public:
  /// Returns a team of the calling thread and as many others as threads() of threads.h allows; none if that is one, or
  /// if OpenMP binds threads to cores, since those of the team would share the core of the calling one.
  static std::unique_ptr<Team> of_own_threads();
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// During its lifetime, the loops of parallel.h on the calling thread are shared by the team. Libraries use one
  /// thread.
  class Lead {
   public:
    explicit Lead(Team* team);  // does nothing if there is none
    ~Lead();
    Lead(const Lead&) = delete;
    Lead& operator=(const Lead&) = delete;

   private:
    Team* before_;
    int threads_;
  };

  /// The team that the calling thread leads now, or nullptr.
  static Team* led();
  /// The position of the calling thread in its team; 0 for all other threads.
  static int member();
  /// True within run().
  static bool is_running();

  int size() const { return size_; }
  /// Calls `work(context, part)` for each part in [0, parts), by one member each. `parts` is at most size(). The
  /// calling thread leads the team; `work` must not throw.
  void run(int64_t parts, void (*work)(void* context, int64_t part), void* context);
  template <typename F>
  void run(int64_t parts, F& work) {
    run(
        parts, [](void* context, int64_t part) { (*static_cast<F*>(context))(part); },
        const_cast<void*>(static_cast<const void*>(&work)));
  }

  /// Names what a later loop will read, in equal shares from its beginning to its end. Members fetch it into their
  /// caches as far as these are large enough, until something else is named. It costs nothing to name the same again.
  void read_ahead(std::span<const std::byte> next);

 private:
  struct Worker;
  void work_for(Worker& worker);
  bool fetch_some(Worker& worker) const;

  int size_;
  int64_t most_ahead_;  // bytes of each share
  // The leader writes the task and what to read ahead, and the other members watch them. Each of the three has a line
  // of the cache of its own.
  struct alignas(64) Task {
    std::atomic<uint32_t> number = 0;  // counts the loops
    std::atomic<bool> stops = false;   // in place of a loop
    int64_t parts = 0;
    void (*work)(void*, int64_t) = nullptr;
    void* context = nullptr;
  } task_;
  struct alignas(64) Ahead {
    std::atomic<uint32_t> number = 0;
    std::atomic<const std::byte*> at = nullptr;
    std::atomic<int64_t> bytes = 0;
  } ahead_;
  struct alignas(64) Done {
    std::atomic<uint32_t> members = 0;
  } done_;
  std::unique_ptr<Worker[]> workers_;
};

}  // namespace mtfc
