#include "formats/tokenizer/parallel_tokens.h"

#include <algorithm>
#include <cctype>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

namespace mtfc {
namespace {

struct TextCut {
  std::string_view text;  // up to the next cut
  char next = 0;          // the letter behind it; 0: the text ends
  bool is_rest = false;   // The text begins before it.
};

// Cuts between a line feed and a letter, each at least `size` bytes after the one before.
void add_cuts(std::vector<TextCut>& cuts, std::string_view text, size_t size) {
  size_t begin = 0;
  while (text.size() - begin > size) {
    size_t at = text.find('\n', begin + size - 1);
    while (at != std::string_view::npos && at + 1 < text.size() &&
           std::isalpha(static_cast<unsigned char>(text[at + 1])) == 0)
      at = text.find('\n', at + 1);
    if (at == std::string_view::npos || at + 1 >= text.size()) break;
    cuts.push_back({text.substr(begin, at + 1 - begin), text[at + 1], begin > 0});
    begin = at + 1;
  }
  cuts.push_back({text.substr(begin), 0, begin > 0});
}

TokenBlock tokenized(const Tokenizer& tokenizer, const TextCut& cut, SpecialTokens special) {
  TokenBlock block{{}, cut.text.size(), cut.next == 0};
  if (cut.next == 0 && !cut.is_rest) {
    block.ids = tokenizer.encode(cut.text, special);
    return block;
  }
  block.ids = cut.next != 0 ? tokenizer.encode_lines(cut.text, cut.next, cut.is_rest)
                            : tokenizer.encode_rest(cut.text);
  if (special == SpecialTokens::kNone) return block;
  const auto& before = tokenizer.ids_before();
  const auto& after = tokenizer.ids_after();
  if (!cut.is_rest) block.ids.insert(block.ids.begin(), before.begin(), before.end());
  if (cut.next == 0) block.ids.insert(block.ids.end(), after.begin(), after.end());
  return block;
}

// Blocks on their way from the threads that make them to the one that takes them in order.
class BlockQueue {
 public:
  BlockQueue(size_t count, size_t most_waiting) : count_(count), most_waiting_(most_waiting) {}

  // The number of the next block to make; `count` if there is none. Waits while too many blocks wait.
  size_t next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_ || next_ == count_ || next_ < taken_ + most_waiting_; });
    return stopped_ ? count_ : next_ < count_ ? next_++ : count_;
  }
  void put(size_t number, TokenBlock block) {
    const std::lock_guard lock(mutex_);
    blocks_[number] = std::move(block);
    changed_.notify_all();
  }
  // The blocks are not wanted any more, because of the error, if there is one.
  void stop(const std::exception_ptr& error) {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    if (!error_) error_ = error;
    changed_.notify_all();
  }
  TokenBlock take(size_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_ || blocks_.contains(number); });
    if (error_) std::rethrow_exception(error_);
    TokenBlock block = std::move(blocks_.at(number));
    blocks_.erase(number);
    taken_ = number + 1;
    changed_.notify_all();
    return block;
  }

 private:
  const size_t count_, most_waiting_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::map<size_t, TokenBlock> blocks_;
  size_t next_ = 0, taken_ = 0;
  bool stopped_ = false;
  std::exception_ptr error_;
};

// Threads that end before this does.
class WorkerThreads {
 public:
  WorkerThreads(BlockQueue& queue, size_t count, const std::function<void()>& work) : queue_(queue) {
    for (size_t i = 0; i < count; ++i) threads_.emplace_back(work);
  }
  ~WorkerThreads() {
    queue_.stop(nullptr);
    for (std::thread& thread : threads_) thread.join();
  }
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

 private:
  BlockQueue& queue_;
  std::vector<std::thread> threads_;
};

}  // namespace

void tokenize_texts(const Tokenizer& tokenizer, const std::vector<std::string_view>& texts,
                    const TokenizingSettings& settings, const std::function<void(const TokenBlock&)>& take) {
  std::vector<TextCut> cuts;
  for (const std::string_view text : texts) {
    if (tokenizer.may_cut_lines())
      add_cuts(cuts, text, settings.part_size);
    else
      cuts.push_back({text});
  }
  const size_t threads = std::clamp<size_t>(settings.threads, 1, std::max<size_t>(cuts.size(), 1));
  BlockQueue queue(cuts.size(), 4 * threads);
  const WorkerThreads workers(queue, threads, [&] {
    try {
      for (size_t i = queue.next(); i < cuts.size(); i = queue.next())
        queue.put(i, tokenized(tokenizer, cuts[i], settings.special));
    } catch (...) {
      queue.stop(std::current_exception());
    }
  });
  for (size_t i = 0; i < cuts.size(); ++i) take(queue.take(i));
}

}  // namespace mtfc
