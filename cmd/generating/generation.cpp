#include "cmd/generating/generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <utility>

#include "cmd/launch/ranks.h"
#include "cmd/terminal/interrupt.h"
#include "runtime/compute/random.h"
#include "runtime/generate/decoder.h"

namespace mtfc {
namespace {

bool ends_with(const std::vector<int64_t>& tokens, const std::vector<int64_t>& stop) {
  return !stop.empty() && tokens.size() >= stop.size() &&
         std::equal(stop.rbegin(), stop.rend(), tokens.rbegin());
}

// The next token of every sequence and the beam that it extends, sequence by sequence and beam by beam.
struct Choice {
  std::vector<int64_t> tokens, parents;
  bool stops = false;
  int signal = 0;  // that stops
};

// A sequence of a round.
struct Slot {
  size_t prompt = 0;
  size_t beginning = 0;
  size_t number = 0;  // among all sequences, whatever the rounds: the key of its random numbers
};

// Makes the choices of a round from the logits. Exists on rank 0.
class Chooser {
 public:
  Chooser(const std::vector<std::vector<int64_t>>& prompts, std::vector<Slot> slots,
          const GenerationOptions& options, const GenerationObserver& observer)
      : prompts_(prompts), slots_(std::move(slots)), options_(options), observer_(observer) {
    for (const Slot& slot : slots_) {
      sequences_.push_back({slot.beginning, {}, {}});
      if (options.beams == 0) continue;
      searches_.emplace_back(BeamOptions{
          options.beams, options.alpha, options.length,
          [stop = options.stop](const std::vector<int64_t>& tokens) { return ends_with(tokens, stop); }});
    }
  }

  // The tokens before the last one of the shortest prompt, for `sequences` sequences: [sequences, positions].
  std::vector<int64_t> shared_positions(size_t sequences, int64_t most) const {
    auto count = static_cast<size_t>(most);
    for (size_t s = 0; s < sequences_.size(); ++s) count = std::min(count, prompt_of(s).size() - 1);
    std::vector<int64_t> tokens(sequences * count, 0);
    for (size_t s = 0; s < sequences_.size(); ++s)
      std::copy_n(prompt_of(s).begin(), count, tokens.begin() + static_cast<std::ptrdiff_t>(s * count));
    return tokens;
  }

  // Chooses the tokens of the prompts at `position`.
  void begin(Choice& choice, int64_t beams, int64_t position) const {
    for (size_t s = 0; s < sequences_.size(); ++s)
      set(choice, s, beams, prompt_of(s)[static_cast<size_t>(position)]);
  }

  // Chooses the tokens after `position`.
  void choose(int64_t position, const Decoder& decoder, Choice& choice) {
    choice.stops = true;
    for (size_t s = 0; s < sequences_.size(); ++s) {
      const std::vector<int64_t>& prompt = prompt_of(s);
      const auto next = static_cast<size_t>(position) + 1;
      if (next < prompt.size())
        set(choice, s, decoder.beams(), prompt[next]);
      else if (!is_done(s))
        go_on(s, position, decoder, choice);
      else
        set(choice, s, decoder.beams(), 0);
      choice.stops &= next >= prompt.size() && is_done(s);
    }
  }

  // Adds the results of each sequence to those of its number.
  void add_results(std::vector<std::vector<Generated>>& by_number) const {
    for (size_t s = 0; s < sequences_.size(); ++s) {
      std::vector<Generated>& results = by_number[slots_[s].number];
      if (options_.beams == 0) {
        results.push_back(sequences_[s]);
        continue;
      }
      const std::vector<Hypothesis> best = searches_[s].results();
      for (size_t i = 0; i < best.size() && i < static_cast<size_t>(options_.samples); ++i)
        results.push_back({slots_[s].beginning, best[i].tokens, best[i].score});
    }
  }

 private:
  const std::vector<int64_t>& prompt_of(size_t s) const { return prompts_[slots_[s].prompt]; }

  bool is_done(size_t s) const {
    if (options_.beams > 0) return searches_[s].is_done();
    const std::vector<int64_t>& tokens = sequences_[s].tokens;
    return tokens.size() >= static_cast<size_t>(options_.length) || ends_with(tokens, options_.stop);
  }

  // Gives one token to all beams of a sequence, each of which continues itself.
  static void set(Choice& choice, size_t s, int64_t beams, int64_t token) {
    for (int64_t beam = 0; beam < beams; ++beam) {
      const size_t at = s * static_cast<size_t>(beams) + static_cast<size_t>(beam);
      choice.tokens[at] = token;
      choice.parents[at] = beam;
    }
  }

  void go_on(size_t s, int64_t position, const Decoder& decoder, Choice& choice) {
    const std::span<const double> logits = decoder.logits(static_cast<int64_t>(s));
    if (options_.beams > 0) {
      const std::vector<BeamStep> steps = searches_[s].advance(logits);
      for (size_t beam = 0; beam < steps.size(); ++beam) {
        choice.tokens[s * steps.size() + beam] = steps[beam].token;
        choice.parents[s * steps.size() + beam] = steps[beam].parent;
      }
      return;
    }
    static const uint64_t kName = stable_hash("generate");
    const double uniform = RandomNumbers(kName, options_.seed, position).uniform(slots_[s].number);
    const int64_t token =
        sample_token(logits.first(static_cast<size_t>(decoder.vocabulary())), options_.sampling, uniform);
    sequences_[s].tokens.push_back(token);
    if (slots_[s].number == 0 && observer_.token) observer_.token(token);
    set(choice, s, decoder.beams(), token);
  }

  const std::vector<std::vector<int64_t>>& prompts_;
  std::vector<Slot> slots_;
  const GenerationOptions& options_;
  const GenerationObserver& observer_;
  std::vector<Generated> sequences_;
  std::vector<BeamSearch> searches_;
};

// Distributes the choice of rank 0 to all ranks; any rank may stop. This takes one message,
// whereas a broadcast of bytes would take two.
void distribute(Processes& processes, Choice& choice) {
  if (processes.size() == 1) return;
  const size_t count = choice.tokens.size();
  std::vector<int64_t> message(2 * count + 2, std::numeric_limits<int64_t>::min());
  message[2 * count] = choice.stops;
  message[2 * count + 1] = choice.signal;
  if (processes.is_root()) {
    std::copy(choice.tokens.begin(), choice.tokens.end(), message.begin());
    std::copy(choice.parents.begin(), choice.parents.end(),
              message.begin() + static_cast<std::ptrdiff_t>(count));
  }
  processes.maximum(message);
  choice.tokens.assign(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(count));
  choice.parents.assign(message.begin() + static_cast<std::ptrdiff_t>(count), message.end() - 2);
  choice.stops = message[2 * count] != 0;
  choice.signal = static_cast<int>(message[2 * count + 1]);
}

// The places that each sequence's beams have seen, as decode's input.
class Pasts {
 public:
  Pasts(const Decoder& decoder)
      : beams_(static_cast<size_t>(decoder.beams())),
        pasts_(decoder.places() > 0 ? static_cast<size_t>(decoder.sequences()) : 0,
               BeamPast(decoder.beams(), decoder.places())) {}

  void step(int64_t position) {
    seen_.clear();
    for (BeamPast& past : pasts_) {
      past.step(position);
      seen_.insert(seen_.end(), past.seen().begin(), past.seen().end());
    }
  }
  void follow(const Choice& choice) {
    for (size_t s = 0; s < pasts_.size(); ++s)
      pasts_[s].follow(std::span(choice.parents).subspan(s * beams_, beams_));
  }
  // After `count` positions of a prompt, whose keys and values stand in the places of the first beam.
  void read_prompt(int64_t count) {
    for (BeamPast& past : pasts_) past.read_prompt(count);
  }
  std::span<const uint8_t> seen() const { return seen_; }

 private:
  size_t beams_;
  std::vector<BeamPast> pasts_;
  std::vector<uint8_t> seen_;
};

// Which sequences each round makes.
class Rounds {
 public:
  // `rows`: of the sources; nullopt if the model reads none.
  Rounds(const Beginnings& beginnings, std::optional<int64_t> rows, const GenerationOptions& options,
         int64_t room)
      : beginnings_(rows ? static_cast<size_t>(*rows) : beginnings.prompt_count),
        samples_(options.beams > 0 ? 1 : static_cast<size_t>(options.samples)),
        room_(static_cast<size_t>(room)),
        has_sources_(rows.has_value()),
        shares_prompt_(rows.has_value() && beginnings.prompt_count == 1) {}

  size_t sequences() const { return beginnings_ * samples_; }
  size_t count() const { return has_sources_ ? batches() * samples_ : (sequences() + room_ - 1) / room_; }
  // The batch of the sources that a round reads.
  int64_t batch(size_t round) const { return static_cast<int64_t>(round % batches()); }

  std::vector<Slot> slots(size_t round) const {
    std::vector<Slot> slots;
    for (size_t i = 0; i < room_; ++i) {
      if (has_sources_) {
        const size_t row = round % batches() * room_ + i;
        if (row < beginnings_)
          slots.push_back({shares_prompt_ ? 0 : row, row, row * samples_ + round / batches()});
      } else if (const size_t number = round * room_ + i; number < sequences()) {
        slots.push_back({number / samples_, number / samples_, number});
      }
    }
    return slots;
  }

 private:
  size_t batches() const { return (beginnings_ + room_ - 1) / room_; }
  size_t beginnings_, samples_, room_;
  bool has_sources_, shares_prompt_;
};

// Reads at once what the prompts of a round have in common in length, but for the last token, whose logits are needed.
// Returns the number of these positions.
int64_t read_prompts(Executor& executor, Decoder& decoder, const std::optional<Chooser>& chooser,
                     Pasts& pasts, GenerationResult& result) {
  const int64_t most = decoder.prompt_positions();
  if (most == 0) return 0;
  const auto start = std::chrono::steady_clock::now();
  const auto sequences = static_cast<size_t>(decoder.sequences());
  std::vector<int64_t> message(sequences * static_cast<size_t>(most) + 1,
                               std::numeric_limits<int64_t>::min());
  if (chooser) {
    const std::vector<int64_t> tokens = chooser->shared_positions(sequences, most);
    std::copy(tokens.begin(), tokens.end(), message.begin());
    message.back() = static_cast<int64_t>(tokens.size() / sequences);
  }
  executor.comm().processes().maximum(message);
  const int64_t count = message.back();
  if (count == 0) return 0;
  decoder.read_prompt(std::span(message).first(sequences * static_cast<size_t>(count)), count);
  pasts.read_prompt(count);
  result.prompt_positions += count;
  result.prompt_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return count;
}

// Steps the sequences of a round until all are complete or a signal comes.
void run_round(Executor& executor, Decoder& decoder, std::optional<Chooser>& chooser,
               GenerationResult& result) {
  Processes& processes = executor.comm().processes();
  const auto count = static_cast<size_t>(decoder.sequences() * decoder.beams());
  Choice choice{std::vector<int64_t>(count, 0), std::vector<int64_t>(count, 0)};
  Pasts pasts(decoder);
  const int64_t first = read_prompts(executor, decoder, chooser, pasts, result);
  if (chooser) chooser->begin(choice, decoder.beams(), first);
  distribute(processes, choice);
  for (int64_t position = first; !choice.stops; ++position) {
    pasts.step(position);
    decoder.step(position, choice.tokens, pasts.seen());
    choice.stops = false;
    if (chooser) chooser->choose(position, decoder, choice);
    choice.signal = InterruptGuard::signal();
    distribute(processes, choice);
    InterruptGuard::get_on();
    if (!choice.stops) result.signal = choice.signal;
    choice.stops |= choice.signal != 0;
    pasts.follow(choice);
    ++result.positions;
  }
}

// The feed of the sources, and how many rows they have.
struct OpenSources {
  std::optional<Feed> feed;
  std::optional<int64_t> rows;
};

OpenSources opened(Executor& executor, const Decoder& decoder, const Beginnings& beginnings) {
  OpenSources sources;
  if (!decoder.encode()) return sources;
  check_invariant(beginnings.sources.has_value(), "encode has no data");
  executor.load(*decoder.encode());
  const auto open = [&] {
    sources.feed.emplace(executor, *decoder.encode(), beginnings.sources->inputs, 0);
    sources.rows = rows_of(*beginnings.sources, *sources.feed);
    if (beginnings.prompt_count > 1 && beginnings.prompt_count != static_cast<size_t>(*sources.rows))
      throw UserError(
          fmt::format("there are {} prompts for {} sources", beginnings.prompt_count, *sources.rows),
          "give one prompt for all, or one for each");
  };
  Processes& processes = executor.comm().processes();
  if (processes.size() == 1)
    open();
  else
    agree(processes, open);
  return sources;
}

}  // namespace

GenerationResult generate(Executor& executor, const Beginnings& beginnings, const GenerationOptions& options,
                          const GenerationObserver& observer) {
  Decoder decoder(executor);
  OpenSources sources = opened(executor, decoder, beginnings);
  const Rounds rounds(beginnings, sources.rows, options, decoder.sequences());
  const bool is_root = executor.comm().processes().is_root();
  std::vector<std::vector<Generated>> by_number(rounds.sequences());
  GenerationResult result;
  InterruptGuard guard;
  decoder.prepare();
  const auto start = std::chrono::steady_clock::now();
  size_t done = 0;
  for (size_t round = 0; round < rounds.count() && result.signal == 0; ++round) {
    const std::vector<Slot> slots = rounds.slots(round);
    decoder.begin([&] {
      if (sources.feed) sources.feed->fill_evaluation(rounds.batch(round));
    });
    std::optional<Chooser> chooser;
    if (is_root) chooser.emplace(beginnings.prompts, slots, options, observer);
    run_round(executor, decoder, chooser, result);
    if (chooser) chooser->add_results(by_number);
    done += slots.size();
    if (is_root && observer.round && result.signal == 0)
      observer.round(static_cast<int64_t>(done), static_cast<int64_t>(rounds.sequences()));
  }
  result.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() - result.prompt_seconds;
  if (is_root)
    for (std::vector<Generated>& results : by_number)
      std::move(results.begin(), results.end(), std::back_inserter(result.sequences));
  return result;
}

}  // namespace mtfc
