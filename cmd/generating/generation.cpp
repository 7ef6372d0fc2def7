#include "cmd/generating/generation.h"

#include <algorithm>
#include <chrono>
#include <limits>

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

// Makes the choices from the logits. Exists on the rank that speaks.
class Chooser {
 public:
  Chooser(const std::vector<std::vector<int64_t>>& prompts, const GenerationOptions& options,
          const TokenSink& sink)
      : prompts_(prompts), options_(options), sink_(sink) {
    for (size_t prompt = 0; prompt < prompts.size(); ++prompt)
      for (int64_t sample = 0; sample < (options.beams > 0 ? 1 : options.samples); ++sample) {
        sequences_.push_back({prompt, {}, {}});
        if (options.beams == 0) continue;
        searches_.emplace_back(BeamOptions{
            options.beams, options.alpha, options.length,
            [stop = options.stop](const std::vector<int64_t>& tokens) { return ends_with(tokens, stop); }});
      }
  }

  // Chooses the first tokens of the prompts.
  void begin(Choice& choice, int64_t beams) const {
    for (size_t s = 0; s < sequences_.size(); ++s) set(choice, s, beams, prompt_of(s)[0]);
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

  std::vector<Generated> results() const {
    if (options_.beams == 0) return sequences_;
    std::vector<Generated> all;
    for (size_t s = 0; s < sequences_.size(); ++s) {
      const std::vector<Hypothesis> best = searches_[s].results();
      for (size_t i = 0; i < best.size() && i < static_cast<size_t>(options_.samples); ++i)
        all.push_back({sequences_[s].prompt, best[i].tokens, best[i].score});
    }
    return all;
  }

 private:
  const std::vector<int64_t>& prompt_of(size_t s) const { return prompts_[sequences_[s].prompt]; }

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
    const std::vector<double> logits = decoder.logits(static_cast<int64_t>(s));
    if (options_.beams > 0) {
      const std::vector<BeamStep> steps = searches_[s].advance(logits);
      for (size_t beam = 0; beam < steps.size(); ++beam) {
        choice.tokens[s * steps.size() + beam] = steps[beam].token;
        choice.parents[s * steps.size() + beam] = steps[beam].parent;
      }
      return;
    }
    static const uint64_t kName = stable_hash("generate");
    const double uniform = RandomNumbers(kName, options_.seed, position).uniform(s);
    const int64_t token = sample_token(std::span(logits).first(static_cast<size_t>(decoder.vocabulary())),
                                       options_.sampling, uniform);
    sequences_[s].tokens.push_back(token);
    if (s == 0 && sink_) sink_(token);
    set(choice, s, decoder.beams(), token);
  }

  const std::vector<std::vector<int64_t>>& prompts_;
  const GenerationOptions& options_;
  const TokenSink& sink_;
  std::vector<Generated> sequences_;
  std::vector<BeamSearch> searches_;
};

// Distributes the choice of the rank that speaks to all ranks; any rank may stop. This takes one message,
// whereas a broadcast of bytes would take two.
void agree(Processes& processes, Choice& choice) {
  if (processes.size() == 1) return;
  const size_t count = choice.tokens.size();
  std::vector<int64_t> message(2 * count + 2, std::numeric_limits<int64_t>::min());
  message[2 * count] = choice.stops;
  message[2 * count + 1] = choice.signal;
  if (processes.speaks()) {
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
  std::span<const uint8_t> seen() const { return seen_; }

 private:
  size_t beams_;
  std::vector<BeamPast> pasts_;
  std::vector<uint8_t> seen_;
};

}  // namespace

GenerationResult generate(Executor& executor, const std::vector<std::vector<int64_t>>& prompts,
                          const GenerationOptions& options, const TokenSink& sink) {
  Processes& processes = executor.comm().processes();
  Decoder decoder(executor);
  std::optional<Chooser> chooser;
  if (processes.speaks()) chooser.emplace(prompts, options, sink);
  const auto count = static_cast<size_t>(decoder.sequences() * decoder.beams());
  Choice choice{std::vector<int64_t>(count, 0), std::vector<int64_t>(count, 0)};
  if (chooser) chooser->begin(choice, decoder.beams());
  agree(processes, choice);
  GenerationResult result;
  Pasts pasts(decoder);
  InterruptGuard guard;
  const auto start = std::chrono::steady_clock::now();
  for (int64_t position = 0; !choice.stops; ++position) {
    pasts.step(position);
    decoder.step(position, choice.tokens, pasts.seen());
    choice.stops = false;
    if (chooser) chooser->choose(position, decoder, choice);
    choice.signal = InterruptGuard::signal();
    agree(processes, choice);
    InterruptGuard::get_on();
    if (!choice.stops) result.signal = choice.signal;
    choice.stops |= choice.signal != 0;
    pasts.follow(choice);
    ++result.positions;
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (chooser) result.sequences = chooser->results();
  return result;
}

}  // namespace mtfc
