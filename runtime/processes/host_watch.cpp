#include "runtime/processes/host_watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>

#include "runtime/processes/job.h"
#include "runtime/processes/processes.h"
#include "runtime/processes/tcp.h"
#include "runtime/processes/unique_fd.h"
#include "runtime/processes/watchdog.h"

namespace mtfc {
namespace {

using Clock = std::chrono::steady_clock;

// Time to connect to the next node, and time for the previous one, whose ranks start at the same time, to connect to
// this one.
constexpr std::chrono::seconds kConnecting{2}, kAccepting{20};
// If a rank ends without a word, its launcher ends the others within this time.
constexpr std::chrono::seconds kLauncher{4};
// The nodes speak in turn, so that one of them ends the run before another one says the same.
constexpr std::chrono::milliseconds kTurn{250};
constexpr int kMostTurns = 4;

// The lowest rank of a node tells the others where it can be reached.
struct Site {
  std::string host;
  uint64_t token = 0;  // proves that a connection is of the same run
  int port = 0;
  std::vector<std::string> addresses;
  std::vector<int> ranks;  // of the node
};

std::string to_text(const Site& site) {
  std::string text = fmt::format("{} {} {}", site.host, site.token, site.port);
  for (const std::string& address : site.addresses) text += " " + address;
  return text + "\n";
}

Site to_site(const std::string& line) {
  Site site;
  std::istringstream words(line);
  words >> site.host >> site.token >> site.port;
  for (std::string address; words >> address;) site.addresses.push_back(address);
  return site;
}

}  // namespace

// The connections of one node to the two beside it, and the thread that waits for their end.
class HostWatch::Ring {
 public:
  Ring(std::vector<Site> sites, size_t here, UniqueFd listener, HostWatchCalls calls)
      : sites_(std::move(sites)),
        here_(here),
        listener_(std::move(listener)),
        calls_(std::move(calls)),
        stop_(eventfd(0, EFD_CLOEXEC)),
        thread_([this] { watch(); }) {}
  ~Ring() {
    eventfd_write(stop_.get(), 1);
    thread_.join();
  }

  void say_goodbye() {
    const std::lock_guard lock(mutex_);
    says_goodbye_ = true;
    for (const Link& link : links_) send_goodbye(link);
  }

 private:
  struct Link {
    size_t node = 0;  // at the other end
    UniqueFd socket = UniqueFd();
    bool has_said_goodbye = false;
    std::optional<Clock::time_point> ended = std::nullopt;  // without a goodbye
    bool is_lost = false;
  };

  size_t next() const { return (here_ + 1) % sites_.size(); }
  size_t previous() const { return (here_ + sites_.size() - 1) % sites_.size(); }
  static void send_goodbye(const Link& link) {
    const char bye = 1;
    if (link.socket && send(link.socket.get(), &bye, 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return;
  }

  UniqueFd connect_next() const {
    const Site& site = sites_[next()];
    UniqueFd file = connect_to(site.addresses, site.port, kConnecting, stop_.get());
    if (file && send(file.get(), &site.token, sizeof site.token, MSG_NOSIGNAL) != sizeof site.token)
      return UniqueFd();
    return file;
  }

  // Others than the ranks of this run may connect too.
  UniqueFd accept_previous() const {
    return accept_known(listener_.get(), sites_[here_].token, kAccepting, stop_.get());
  }

  bool has_to_stop() const {
    pollfd stop{stop_.get(), POLLIN, 0};
    return poll(&stop, 1, 0) > 0;
  }

  void join_ring() {
    std::vector<Link> links;
    links.push_back({next(), connect_next()});
    links.push_back({previous(), accept_previous()});
    listener_.reset();
    if (!links[0].socket && !has_to_stop())
      calls_.warn(fmt::format(
          "host '{}' can't connect to host '{}' by TCP, so the loss of a host is noticed only by --watchdog",
          sites_[here_].host, sites_[next()].host));
    std::erase_if(links, [](const Link& link) { return !link.socket; });
    for (const Link& link : links) ask_whether_alive(link.socket.get());
    const std::lock_guard lock(mutex_);
    links_ = std::move(links);
    if (says_goodbye_)
      for (const Link& link : links_) send_goodbye(link);
  }

  // The other end of a connection has said goodbye, has closed it, or does not answer.
  static void look(Link& link) {
    const LineEvent event = look_at_line(link.socket.get());
    if (event == LineEvent::kByte) link.has_said_goodbye = true;
    if (event == LineEvent::kByte || event == LineEvent::kNothing) return;
    if (event == LineEvent::kLost)
      link.is_lost = true;
    else if (!link.has_said_goodbye)
      link.ended = Clock::now();
    link.socket.reset();
  }

  // Waits for news of the links until a time, or without end; returns false if the thread is to stop.
  bool wait_for_news(std::optional<Clock::time_point> until) {
    std::vector<pollfd> waits{{stop_.get(), POLLIN, 0}};
    for (const Link& link : links_) waits.push_back({link.socket.get(), POLLIN, 0});
    if (poll(waits.data(), waits.size(), until ? milliseconds_until(*until) : -1) <= 0) return true;
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < links_.size(); ++i)
      if (links_[i].socket && waits[i + 1].revents != 0) look(links_[i]);
    return waits[0].revents == 0;
  }

  bool has_lost() const {
    return std::any_of(links_.begin(), links_.end(), [](const Link& link) { return link.is_lost; });
  }

  // When a rank that has ended without a word is taken for lost, if there is one.
  std::optional<Clock::time_point> patience() const {
    for (const Link& link : links_)
      if (link.ended) return *link.ended + kLauncher;
    return std::nullopt;
  }

  void watch() {
    join_ring();
    for (;;) {
      const auto until = patience();
      if (has_lost() || (until && Clock::now() >= *until)) break;
      if (!wait_for_news(until)) return;
    }
    const auto turn = Clock::now() + std::min(kMostTurns, static_cast<int>(here_)) * kTurn;
    while (Clock::now() < turn)
      if (!wait_for_news(turn)) return;
    calls_.lost(loss_text());
  }

  std::string loss_text() const {
    std::vector<size_t> lost;
    for (const Link& link : links_)
      if (link.is_lost && std::find(lost.begin(), lost.end(), link.node) == lost.end())
        lost.push_back(link.node);
    if (lost.empty()) {
      const Link& link =
          *std::find_if(links_.begin(), links_.end(), [](const Link& one) { return one.ended; });
      return fmt::format("rank {} on host '{}' has ended", sites_[link.node].ranks.front(),
                         sites_[link.node].host);
    }
    std::string text = lost.size() == 1 ? "host " : "hosts ";
    for (size_t i = 0; i < lost.size(); ++i)
      text += fmt::format("{}'{}' ({})", i == 0 ? "" : " and ", sites_[lost[i]].host,
                          rank_text(sites_[lost[i]].ranks));
    return fmt::format("{} no longer {} host '{}'", text, lost.size() == 1 ? "answers" : "answer",
                       sites_[here_].host);
  }

  const std::vector<Site> sites_;  // by node
  const size_t here_;
  UniqueFd listener_;
  const HostWatchCalls calls_;
  const UniqueFd stop_;
  std::mutex mutex_;  // of what say_goodbye() and the thread share
  bool says_goodbye_ = false;
  std::vector<Link> links_;
  std::thread thread_;
};

HostWatch::HostWatch(Processes& processes, HostWatchCalls calls) {
  const std::vector<int>& nodes = processes.nodes();
  if (!processes.has_several_nodes()) return;
  UniqueFd listener;
  Site own;
  if (processes.leads_node()) {
    own.host = host_name();
    own.addresses = own_addresses();
    listener = listen_anywhere(own.port);
    own.token = random_token();
  }
  std::string all;
  for (const std::string& text : processes.gather(processes.leads_node() ? to_text(own) : "")) all += text;
  processes.broadcast(all);
  if (!processes.leads_node()) return;
  std::vector<Site> sites;
  std::istringstream lines(all);
  size_t here = 0;
  for (size_t rank = 0; rank < nodes.size(); ++rank) {
    if (nodes[rank] != static_cast<int>(rank)) continue;
    if (nodes[rank] == processes.rank()) here = sites.size();
    std::string line;
    std::getline(lines, line);
    sites.push_back(to_site(line));
    for (size_t other = rank; other < nodes.size(); ++other)
      if (nodes[other] == static_cast<int>(rank)) sites.back().ranks.push_back(static_cast<int>(other));
  }
  ring_ = std::make_unique<Ring>(std::move(sites), here, std::move(listener), std::move(calls));
}

HostWatch::~HostWatch() = default;

void HostWatch::say_goodbye() {
  if (ring_) ring_->say_goodbye();
}

}  // namespace mtfc
