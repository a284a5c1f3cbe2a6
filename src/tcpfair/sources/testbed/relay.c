// The wires of the dumbbell, in user space: a fixed delay for each sender, both ways, for kernels without netem; and, where
// requested, the bottleneck itself.
//
//   relay [-f PRIORITY] [-n SLOTS] [-r RATE -b BUFFER -o OVERHEAD] [-q QUEUE.csv] [-d DROPS.csv] [-w HEADERS.pcap]
//         RECEIVER SENDER,OCTET,FORWARD_NS,BACK_NS...
//
// RECEIVER and SENDER are interfaces in this network namespace. What comes in at a SENDER leaves at RECEIVER after FORWARD_NS;
// what comes in at RECEIVER for an IPv4 address whose third octet is OCTET leaves at its SENDER after BACK_NS.
//
// Times of arrival are the kernel's, and times of departure are worked out from them alone: that this process runs a little
// late delays a packet, but moves neither the next one nor the queue. So it need not wake for arrivals, only for departures
// and often enough (READ_EVERY_NS) to know of them in time.
//
// RATE (bit/s) makes a drop-tail bottleneck of BUFFER bytes out of the way to RECEIVER; OVERHEAD bytes are charged on top of
// each frame. On SIGTERM, says in one line of JSON what it has carried, dropped, and how late it was.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FRAME 1600  // above the 1514 of Ethernet
#define BATCH 64
#define MOST_SENDERS 32
#define HEADERS 96  // of a packet, in the pcap
#define READ_EVERY_NS 400000ull
#define RELEASE_EVERY_NS 60000ull  // departures closer than this share a wake-up; half a packet time at 100 Mb/s
#define LONGEST_RUN_US 500000  // without sleeping
#define QUEUE_EVERY_NS 10000000ull

typedef uint64_t ns;

struct packet {
  ns due;
  uint32_t length;
  uint8_t bytes[FRAME];
};

// One way of one sender: packets leave in the order in which they came, as all are delayed alike.
struct line {
  struct packet *ring;
  uint32_t head, tail;
  ns delay;
  int out;
};

struct arrival {
  ns at;
  int sender;  // -1: from the receiver
  uint32_t length;
  const uint8_t *bytes;
};

static struct line forward_line[MOST_SENDERS], back_line[MOST_SENDERS];
static int sender_socket[MOST_SENDERS], octet[MOST_SENDERS], senders, receiver_socket;
static uint32_t slots = 16384;
static double ns_per_byte;
static uint64_t buffer_bytes, overhead_bytes;
static ns free_at;  // when the bottleneck will have sent what it has
static uint64_t carried, carried_bytes, dropped, full_rings, unsent, oversized, strange;
static uint64_t late_by[5];  // packets that left later than due by more than LATE_NS
static const ns LATE_NS[5] = {200000, 1000000, 2000000, 5000000, 20000000};
static ns latest, longest_pause;
static volatile sig_atomic_t stop;
static FILE *queue_file, *drop_file, *pcap_file;

static void die(const char *what) {
  fprintf(stderr, "relay: %s: %s\n", what, strerror(errno));
  exit(1);
}

static void on_signal(int number) { (void)number; stop = 1; }

static ns now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);  // the clock of the kernel's stamps
  return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static int packet_socket(const char *interface) {
  int one = 1, room = 64 << 20, made = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
  struct sockaddr_ll address = {
      .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = if_nametoindex(interface)};
  if (made < 0 || !address.sll_ifindex) die(interface);
  // before bind, which opens the tap: nothing that leaves is to be read again
  if (setsockopt(made, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one)) die("PACKET_IGNORE_OUTGOING");
  if (setsockopt(made, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof one)) die("PACKET_QDISC_BYPASS");
  if (setsockopt(made, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room)) die("SO_RCVBUFFORCE");
  if (setsockopt(made, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room)) die("SO_SNDBUFFORCE");
  if (setsockopt(made, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof one)) die("SO_TIMESTAMPNS");
  if (bind(made, (void *)&address, sizeof address)) die(interface);
  struct packet_mreq promiscuous = {.mr_ifindex = address.sll_ifindex, .mr_type = PACKET_MR_PROMISC};
  if (setsockopt(made, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous, sizeof promiscuous)) die("promiscuous");
  return made;
}

static struct line make_line(ns delay, int out) {
  struct line made = {.delay = delay, .out = out};
  // populated: a page fault would come while packets wait
  made.ring = mmap(0, sizeof(struct packet) * (size_t)slots, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (made.ring == MAP_FAILED) die("no memory for the packets on their way");
  return made;
}

static void add_sender(const char *text) {
  char interface[IF_NAMESIZE];
  unsigned third_octet;
  unsigned long long there, back;
  if (senders == MOST_SENDERS || sscanf(text, "%15[^,],%u,%llu,%llu", interface, &third_octet, &there, &back) != 4) {
    fprintf(stderr, "relay: not a sender: %s\n", text);
    exit(2);
  }
  octet[senders] = third_octet;
  sender_socket[senders] = packet_socket(interface);
  forward_line[senders] = make_line(there, receiver_socket);
  back_line[senders] = make_line(back, sender_socket[senders]);
  senders++;
}

// ---------------------------------------------------------------- the pcap

static void put(const void *bytes, size_t size) { fwrite(bytes, 1, size, pcap_file); }

static void begin_pcap(void) {
  const uint32_t head[6] = {0xa1b23c4d, 2 | 4 << 16, 0, 0, HEADERS, 1};  // nanoseconds, version 2.4, Ethernet
  put(head, sizeof head);
}

// Seen where the sender is: its data as they leave it, the ACKs as they reach it.
static void record(ns at, const uint8_t *bytes, uint32_t length) {
  if (!pcap_file) return;
  uint32_t kept = length < HEADERS ? length : HEADERS;
  const uint32_t head[4] = {at / 1000000000ull, at % 1000000000ull, kept, length};
  put(head, sizeof head);
  put(bytes, kept);
}

// ---------------------------------------------------------------- packets

static void enqueue(struct line *way, ns at, const struct arrival *packet) {
  if (way->tail - way->head == slots) {
    full_rings++;
    return;
  }
  struct packet *slot = &way->ring[way->tail++ % slots];
  slot->due = at + way->delay;
  slot->length = packet->length;
  memcpy(slot->bytes, packet->bytes, packet->length);
}

// Departure from the bottleneck, or 0 when the packet is dropped.
static ns through_bottleneck(const struct arrival *packet) {
  if (!ns_per_byte) return packet->at;
  double waiting_bytes = free_at > packet->at ? (free_at - packet->at) / ns_per_byte : 0;
  uint32_t charged = packet->length + overhead_bytes;
  if (waiting_bytes + charged > buffer_bytes) {
    dropped++;
    if (drop_file)
      fprintf(drop_file, "%.6f,%d,%u,%.0f\n", packet->at / 1e9, packet->sender + 1, packet->length, waiting_bytes);
    return 0;
  }
  ns begin = free_at > packet->at ? free_at : packet->at;
  free_at = begin + (ns)(charged * ns_per_byte + .5);
  carried++;
  carried_bytes += packet->length;
  return free_at;
}

static void accept_packet(const struct arrival *packet) {
  if (packet->sender >= 0) {
    record(packet->at, packet->bytes, packet->length);
    ns at = through_bottleneck(packet);
    if (at) enqueue(&forward_line[packet->sender], at, packet);
    return;
  }
  const uint8_t *b = packet->bytes;
  if (packet->length < 34 || b[12] != 8 || b[13] != 0) return;  // no IPv4
  for (int i = 0; i < senders; i++)
    if (octet[i] == b[32]) {
      enqueue(&back_line[i], packet->at, packet);
      return;
    }
  strange++;
}

static int by_arrival(const void *a, const void *b) {
  const struct arrival *x = a, *y = b;
  return x->at < y->at ? -1 : x->at > y->at;
}

static int read_from(int from, int sender, uint8_t (*room)[FRAME], struct arrival *found) {
  static char control[BATCH][64];
  struct mmsghdr messages[BATCH];
  struct iovec pieces[BATCH];
  for (int i = 0; i < BATCH; i++) {
    pieces[i] = (struct iovec){room[i], FRAME};
    messages[i].msg_hdr = (struct msghdr){
        .msg_iov = &pieces[i], .msg_iovlen = 1, .msg_control = control[i], .msg_controllen = sizeof control[i]};
  }
  int count = recvmmsg(from, messages, BATCH, MSG_DONTWAIT, 0), kept = 0;
  for (int i = 0; i < count; i++) {
    ns at = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&messages[i].msg_hdr); c; c = CMSG_NXTHDR(&messages[i].msg_hdr, c))
      if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
        struct timespec t;
        memcpy(&t, CMSG_DATA(c), sizeof t);
        at = t.tv_sec * 1000000000ull + t.tv_nsec;
      }
    if (messages[i].msg_hdr.msg_flags & MSG_TRUNC) oversized++;  // an offload is still on
    else found[kept++] = (struct arrival){at ? at : now_ns(), sender, messages[i].msg_len, room[i]};
  }
  return kept;
}

// Everything that has come, taken in the order in which it came, whoever sent it.
static void read_all(void) {
  static uint8_t room[MOST_SENDERS + 1][BATCH][FRAME];
  static struct arrival found[(MOST_SENDERS + 1) * BATCH];
  for (int rounds = 0; rounds < 16; rounds++) {
    int count = read_from(receiver_socket, -1, room[senders], found);
    for (int i = 0; i < senders; i++) count += read_from(sender_socket[i], i, room[i], found + count);
    if (!count) return;
    qsort(found, count, sizeof *found, by_arrival);
    for (int i = 0; i < count; i++) accept_packet(&found[i]);
  }
}

static void note_lateness(ns late) {
  if (late > latest) latest = late;
  for (int i = 0; i < 5 && late > LATE_NS[i]; i++) late_by[i]++;
}

static void release(struct line *way, ns now, int to_sender) {
  while (way->head != way->tail && way->ring[way->head % slots].due <= now) {
    struct mmsghdr messages[BATCH];
    struct iovec pieces[BATCH];
    int count = 0;
    for (uint32_t k = way->head; count < BATCH && k != way->tail; k++, count++) {
      struct packet *packet = &way->ring[k % slots];
      if (packet->due > now) break;
      note_lateness(now - packet->due);
      if (to_sender) record(now, packet->bytes, packet->length);
      pieces[count] = (struct iovec){packet->bytes, packet->length};
      messages[count].msg_hdr = (struct msghdr){.msg_iov = &pieces[count], .msg_iovlen = 1};
    }
    for (int done = 0; done < count;) {
      int sent = sendmmsg(way->out, messages + done, count - done, 0);
      if (sent <= 0) unsent++;
      done += sent > 0 ? sent : 1;
    }
    way->head += count;
  }
}

static ns first_due(const struct line *way) {
  return way->head == way->tail ? UINT64_MAX : way->ring[way->head % slots].due;
}

static void write_queue(ns now) {
  double waiting = free_at > now ? (free_at - now) / ns_per_byte : 0;
  fprintf(queue_file, "%.4f,%.0f,%lu,%lu\n", now / 1e9, waiting, dropped, carried_bytes);
}

static FILE *begin_file(const char *path, const char *head) {
  FILE *made = fopen(path, "w");
  if (!made) die(path);
  setvbuf(made, NULL, _IOFBF, 1 << 20);
  if (head) fputs(head, made);
  return made;
}

static void run(void) {
  ns next_queue = now_ns(), before = next_queue;
  while (!stop) {
    read_all();
    ns now = now_ns();
    for (int i = 0; i < senders; i++) {
      release(&forward_line[i], now, 0);
      release(&back_line[i], now, 1);
    }
    if (queue_file && ns_per_byte && now >= next_queue) {
      write_queue(now);
      next_queue = now + QUEUE_EVERY_NS;
    }
    ns wake = now + READ_EVERY_NS;
    for (int i = 0; i < senders; i++) {
      ns there = first_due(&forward_line[i]), back = first_due(&back_line[i]);
      if (there < wake) wake = there;
      if (back < wake) wake = back;
    }
    if (wake < now + RELEASE_EVERY_NS) wake = now + RELEASE_EVERY_NS;
    struct timespec until = {wake / 1000000000ull, wake % 1000000000ull};
    clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL);
    before = now_ns();
    if (before > wake && before - wake > longest_pause) longest_pause = before - wake;
  }
}

static uint64_t overruns(int of) {
  struct tpacket_stats counts = {0};
  socklen_t size = sizeof counts;
  getsockopt(of, SOL_PACKET, PACKET_STATISTICS, &counts, &size);
  return counts.tp_drops;
}

int main(int argc, char **argv) {
  int option, priority = 0;
  while ((option = getopt(argc, argv, "f:n:r:b:o:q:d:w:")) != -1) {
    if (option == 'f') priority = atoi(optarg);
    else if (option == 'n') slots = strtoul(optarg, 0, 10);
    else if (option == 'r') ns_per_byte = 8e9 / atof(optarg);
    else if (option == 'b') buffer_bytes = strtoull(optarg, 0, 10);
    else if (option == 'o') overhead_bytes = strtoull(optarg, 0, 10);
    else if (option == 'q') queue_file = begin_file(optarg, "t,backlog,drops,bytes\n");
    else if (option == 'd') drop_file = begin_file(optarg, "t,flow,len,backlog\n");
    else if (option == 'w') pcap_file = begin_file(optarg, NULL);
    else return 2;
  }
  if (argc - optind < 2 || !slots) return 2;
  if (pcap_file) begin_pcap();
  receiver_socket = packet_socket(argv[optind]);
  for (int i = optind + 1; i < argc; i++) add_sender(argv[i]);
  signal(SIGTERM, on_signal);
  signal(SIGINT, on_signal);
  prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  struct sched_param realtime = {priority};
  const struct rlimit longest = {LONGEST_RUN_US, LONGEST_RUN_US};  // a real-time process that spins would stop all others
  if (setrlimit(RLIMIT_RTTIME, &longest)) die("RLIMIT_RTTIME");
  if (priority && sched_setscheduler(0, SCHED_FIFO, &realtime)) die("real-time priority");
  puts("ready");
  fflush(stdout);
  run();
  uint64_t lost = overruns(receiver_socket);
  for (int i = 0; i < senders; i++) lost += overruns(sender_socket[i]);
  printf("{\"carried_pkts\": %lu, \"dropped_pkts\": %lu, \"unread_pkts\": %lu, \"unsent_pkts\": %lu, \"full_rings_pkts\": %lu, "
         "\"oversized_pkts\": %lu, \"strange_pkts\": %lu, \"latest_s\": %.6f, \"longest_pause_s\": %.6f, \"late_pkts\": {",
         carried, dropped, lost, unsent, full_rings, oversized, strange, latest / 1e9, longest_pause / 1e9);
  for (int i = 0; i < 5; i++) printf("%s\"%g\": %lu", i ? ", " : "", LATE_NS[i] / 1e6, late_by[i]);
  puts("}}");
  return 0;
}
