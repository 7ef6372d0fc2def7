// Delays every packet that this network namespace's firewall puts into its queue 0, for kernels without netem:
//   delay_packets TIME        TIME as in 0.2ms, 200us or 1s; runs until it is ended
// Packets stay in the kernel; this program only says when each may go on, in the order in which they came. It asks for
// real-time priority, so that packets are not late when all cores are busy.

#include <arpa/inet.h>
#include <errno.h>
#include <libnetfilter_queue/libnetfilter_queue.h>
#include <linux/netfilter.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <chrono>
#include <deque>

namespace {

using Clock = std::chrono::steady_clock;

struct Packet {
  uint32_t id;
  Clock::time_point due;
};

struct Delay {
  Clock::duration time;
  std::deque<Packet> waiting;
};

[[noreturn]] void fail(const char* what) {
  fprintf(stderr, "delay_packets: %s: %s\n", what, strerror(errno));
  exit(1);
}

// 0 if `text` is not a time.
Clock::duration parse_time(const char* text) {
  char* unit = nullptr;
  const double number = strtod(text, &unit);
  const double seconds = !strcmp(unit, "s")    ? number
                         : !strcmp(unit, "ms") ? number / 1e3
                         : !strcmp(unit, "us") ? number / 1e6
                                               : 0;
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

int take(nfq_q_handle*, nfgenmsg*, nfq_data* packet, void* delay) {
  auto& [time, waiting] = *static_cast<Delay*>(delay);
  const nfqnl_msg_packet_hdr* header = nfq_get_msg_packet_hdr(packet);
  if (header) waiting.push_back({ntohl(header->packet_id), Clock::now() + time});
  return 0;
}

// Waits for further packets until the first one is due.
void await(int socket, const std::deque<Packet>& waiting) {
  pollfd readable{socket, POLLIN, 0};
  if (waiting.empty()) {
    ppoll(&readable, 1, nullptr, nullptr);
    return;
  }
  const auto left = std::chrono::nanoseconds(waiting.front().due - Clock::now()).count();
  if (left <= 0) return;
  const timespec timeout{left / 1000000000, left % 1000000000};
  ppoll(&readable, 1, &timeout, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  Delay delay{argc == 2 ? parse_time(argv[1]) : Clock::duration(0), {}};
  if (delay.time <= Clock::duration(0)) {
    fprintf(stderr, "usage: delay_packets TIME, as in 0.2ms\n");
    return 2;
  }
  const sched_param priority{50};
  if (sched_setscheduler(0, SCHED_FIFO, &priority) != 0)
    fprintf(stderr,
            "delay_packets: can't get real-time priority; packets may take longer than TIME while all cores "
            "are busy\n");

  nfq_handle* const kernel = nfq_open();
  if (!kernel) fail("can't reach the kernel's queues");
  nfq_q_handle* const queue = nfq_create_queue(kernel, 0, take, &delay);
  if (!queue) fail("can't open queue 0");
  if (nfq_set_mode(queue, NFQNL_COPY_META, 0) < 0) fail("can't ask for the numbers of packets only");
  if (nfq_set_queue_flags(queue, NFQA_CFG_F_GSO, NFQA_CFG_F_GSO) < 0)
    fail("can't keep the kernel from splitting large packets");
  if (nfq_set_queue_maxlen(queue, 1 << 16) < 0) fail("can't lengthen the queue");
  nfnl_rcvbufsiz(nfq_nfnlh(kernel), 1 << 24);
  puts("ready");
  fflush(stdout);

  const int socket = nfq_fd(kernel);
  alignas(8) char message[1 << 16];
  while (true) {
    await(socket, delay.waiting);
    ssize_t bytes;
    while ((bytes = recv(socket, message, sizeof message, MSG_DONTWAIT)) > 0)
      nfq_handle_packet(kernel, message, static_cast<int>(bytes));
    if (errno != EAGAIN && errno != EINTR && errno != ENOBUFS) fail("can't read the queue");
    // One verdict lets all packets up to number `last` go on.
    const Clock::time_point now = Clock::now();
    uint32_t last = 0;
    bool any = false;
    for (; !delay.waiting.empty() && delay.waiting.front().due <= now; delay.waiting.pop_front(), any = true)
      last = delay.waiting.front().id;
    if (any && nfq_set_verdict_batch(queue, last, NF_ACCEPT) < 0) fail("can't let a packet go on");
  }
}
