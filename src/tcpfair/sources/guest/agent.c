// The guest's only program: process 1 of the kernel. It carries out /scenario (see __init__.py), a line at a time, then opens all
// flows, sends and receives, and prints what TCP_INFO, the receivers and the bottleneck's queue showed, all in the guest's time.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/tcp.h>
#include <math.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
enum { DCCP = 33, SOCK_DCCP_TYPE = 6, SOL_DCCP_LEVEL = 269, DCCP_SERVICE = 2, DCCP_CCID = 13, DCCP_TXQLEN = 17 };
enum { FLOWS = 64, WORDS = 32, LINE = 512, PORT = 5001, QUEUED = 64, NOT_SENT = 65536, LEAD_S = 2 };

struct flow {
  int is_dccp, payload, mss, out, in, is_stopped;
  char space[16], to[16], cc[16];
  double start, stop, left; // s, s, bytes
  long long received;
  struct tcp_info before, now;
  double before_t;
} flows[FLOWS];
static int n_flows;
static char buffer[65536], *text;
static size_t used, room = 1 << 24;

static void fail(const char *what, const char *about) { // the host shows this line
  printf("FAILED %s %s: %s\n", what, about, strerror(errno));
  fflush(stdout);
  sleep(1);
  reboot(RB_POWER_OFF);
}
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}
static void enter(const char *space) {
  char path[64];
  snprintf(path, sizeof path, "/run/netns/%s", space);
  int file = open(path, O_RDONLY);
  if (file < 0 || setns(file, CLONE_NEWNET)) fail("netns", space);
  close(file);
}
static void call(char **words) {
  int status = 0;
  pid_t child = fork();
  if (!child) {
    execv(words[0], words);
    _exit(127);
  }
  waitpid(child, &status, 0);
  if (status) fail(words[0], words[2] ? words[2] : "");
}
static void module(const char *path) {
  int file = open(path, O_RDONLY);
  if (file < 0 || (syscall(SYS_finit_module, file, "", 0) && errno != EEXIST)) fail("module", path);
  close(file);
}
static void put(const char *path, const char *value) {
  int file = open(path, O_WRONLY);
  if (file < 0 || write(file, value, strlen(value)) < 0) fail("write", path);
  close(file);
}
static int endpoint(struct flow *f) {
  int s = socket(AF_INET, f->is_dccp ? SOCK_DCCP_TYPE : SOCK_STREAM, f->is_dccp ? DCCP : 0), mss = f->mss;
  unsigned service = htonl(42);
  unsigned char ccid = 2;
  if (s < 0) fail("socket", f->cc);
  if (f->is_dccp) {
    setsockopt(s, SOL_DCCP_LEVEL, DCCP_SERVICE, &service, sizeof service);
    if (setsockopt(s, SOL_DCCP_LEVEL, DCCP_CCID, &ccid, 1)) fail("ccid", f->cc);
  } else if (setsockopt(s, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof mss)) fail("mss", f->cc);
  return s;
}
static void open_flow(struct flow *f, int number) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(PORT + number)};
  int queued = QUEUED, not_sent = NOT_SENT;
  enter("d");
  int listening = endpoint(f);
  if (bind(listening, (void *)&a, sizeof a) || listen(listening, 1)) fail("listen", f->cc);
  enter(f->space);
  f->out = endpoint(f);
  if (!f->is_dccp && setsockopt(f->out, IPPROTO_TCP, TCP_CONGESTION, f->cc, strlen(f->cc))) fail("algorithm", f->cc);
  if (!f->is_dccp) setsockopt(f->out, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &not_sent, sizeof not_sent);
  if (f->is_dccp) setsockopt(f->out, SOL_DCCP_LEVEL, DCCP_TXQLEN, &queued, sizeof queued);
  inet_pton(AF_INET, f->to, &a.sin_addr);
  if (connect(f->out, (void *)&a, sizeof a)) fail("connect", f->cc);
  if ((f->in = accept(listening, 0, 0)) < 0) fail("accept", f->cc);
  close(listening);
  fcntl(f->out, F_SETFL, O_NONBLOCK);
  fcntl(f->in, F_SETFL, O_NONBLOCK);
}
static void transmit(struct flow *f, double t) { // whatever the socket takes
  if (f->is_stopped || t < f->start) return;
  while (t < f->stop && f->left > 0) {
    size_t size = f->is_dccp ? (size_t)f->payload : sizeof buffer / 4;
    ssize_t sent = send(f->out, buffer, size < f->left ? size : (size_t)f->left, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) fail("send", f->cc);
    if (sent < 0) return;
    f->left -= sent;
  }
  f->is_stopped = 1;
  if (f->is_dccp) close(f->out);
  else shutdown(f->out, SHUT_WR);
}
static void receive(struct flow *f) {
  ssize_t got = recv(f->in, buffer, sizeof buffer, 0);
  if (got > 0) f->received += got;
  else if (got == 0 || errno != EAGAIN) f->in = -1; // the sender has closed: poll leaves it out
}
static void queue(int netlink, int device, long long found[3]) { // packets sent, dropped and waiting at the bottleneck
  struct {
    struct nlmsghdr head;
    struct tcmsg tc;
  } request = {{sizeof request, RTM_GETQDISC, NLM_F_REQUEST | NLM_F_DUMP, 1, 0}, {.tcm_family = AF_UNSPEC}};
  static char answer[32768];
  if (send(netlink, &request, sizeof request, 0) < 0) fail("netlink", "send");
  for (;;) {
    int length = recv(netlink, answer, sizeof answer, 0);
    for (struct nlmsghdr *m = (void *)answer; NLMSG_OK(m, length); m = NLMSG_NEXT(m, length)) {
      if (m->nlmsg_type == NLMSG_DONE) return;
      struct tcmsg *tc = NLMSG_DATA(m);
      if (tc->tcm_ifindex != device || tc->tcm_parent != TC_H_ROOT) continue;
      int rest = m->nlmsg_len - NLMSG_LENGTH(sizeof *tc);
      for (struct rtattr *a = TCA_RTA(tc); RTA_OK(a, rest); a = RTA_NEXT(a, rest)) {
        if (a->rta_type != TCA_STATS2) continue;
        int inner = RTA_PAYLOAD(a);
        for (struct rtattr *b = RTA_DATA(a); RTA_OK(b, inner); b = RTA_NEXT(b, inner)) {
          if (b->rta_type == TCA_STATS_BASIC) found[0] = ((struct gnet_stats_basic *)RTA_DATA(b))->packets;
          if (b->rta_type != TCA_STATS_QUEUE) continue;
          found[1] = ((struct gnet_stats_queue *)RTA_DATA(b))->drops;
          found[2] = ((struct gnet_stats_queue *)RTA_DATA(b))->qlen;
        }
      }
    }
  }
}
static void show(int i, double t, const struct tcp_info *x) {
  used += sprintf(text + used, "poll %d %.6f %lld %u %u %u %u %u\n", i, t, flows[i].received, x->tcpi_snd_cwnd, x->tcpi_snd_ssthresh,
                  x->tcpi_rtt, x->tcpi_total_retrans, x->tcpi_ca_state);
  if (used > room - LINE && !(text = realloc(text, room *= 2))) fail("memory", "text");
}
static void observe(int i, double t, int is_sample) { // a line for each sample, and those before and after a change of state
  struct flow *f = &flows[i];
  socklen_t size = sizeof f->now;
  memset(&f->now, 0, sizeof f->now);
  if (!f->is_dccp) getsockopt(f->out, IPPROTO_TCP, TCP_INFO, &f->now, &size);
  int is_change = f->now.tcpi_ca_state != f->before.tcpi_ca_state;
  if (is_change && f->before_t >= 0) show(i, f->before_t, &f->before);
  if (is_change || is_sample) show(i, t, &f->now);
  f->before = f->now;
  f->before_t = is_change || is_sample ? -1 : t;
}
static void run(double duration, double sample, int ticks) {
  for (int i = 0; i < n_flows; i++) open_flow(&flows[i], i);
  enter("r");
  int netlink = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), device = if_nametoindex("out");
  double begin = floor(now()) + LEAD_S, tick = sample / ticks;
  long last = lround(duration / tick);
  long long link[3] = {0};
  struct pollfd fds[2 * FLOWS];
  for (long k = 0; k <= last; k++) {
    for (;;) {
      double t = now() - begin, wait = k * tick - t;
      for (int i = 0; i < n_flows; i++) { // the next tick or the next start or stop, whichever is first
        double due = t < flows[i].start ? flows[i].start : flows[i].stop;
        if (t < due && due - t < wait) wait = due - t;
      }
      if (k * tick <= t) break;
      struct timespec left = {(time_t)wait, (long)(1e9 * (wait - floor(wait)))};
      for (int i = 0; i < n_flows; i++) {
        int is_sending = !flows[i].is_dccp && !flows[i].is_stopped && t >= flows[i].start;
        fds[2 * i] = (struct pollfd){is_sending ? flows[i].out : -1, POLLOUT, 0};
        fds[2 * i + 1] = (struct pollfd){flows[i].in, POLLIN, 0};
      }
      ppoll(fds, 2 * n_flows, &left, 0);
      for (int i = 0; i < n_flows; i++) {
        if (fds[2 * i + 1].revents) receive(&flows[i]);
        // as a blocking writer: a small write for each freed packet would end with PSH, which this kernel acknowledges at once
        double at = now() - begin;
        if (fds[2 * i].revents || (!flows[i].is_dccp && at >= flows[i].stop)) transmit(&flows[i], at);
      }
    }
    int is_sample = k % ticks == 0;
    for (int i = 0; i < n_flows; i++) {
      if (flows[i].is_dccp) transmit(&flows[i], now() - begin); // its socket has no writable state: it is filled at each tick
      observe(i, k * tick, is_sample);
    }
    if (is_sample) {
      queue(netlink, device, link);
      used += sprintf(text + used, "link %.6f %lld %lld %lld\n", k * tick, link[0], link[1], link[2]);
    }
  }
}
// A processor that has nothing to do would be woken by QEMU's other thread, at a moment that the host decides. This process runs when
// nothing else does, so that the clock always counts instructions.
static void never_idle(void) {
  if (fork()) return;
  struct sched_param none = {0};
  sched_setscheduler(0, SCHED_IDLE, &none);
  for (;;) __asm__ volatile(".rept 400; nop; .endr"); // QEMU counts a block of them at once
}
int main(void) {
  static char line[LINE];
  char *words[WORDS];
  text = malloc(room);
  never_idle();
  mkdir("/proc", 0755), mkdir("/sys", 0755), mkdir("/run", 0755), mkdir("/var", 0755);
  mount("proc", "/proc", "proc", 0, 0), mount("sys", "/sys", "sysfs", 0, 0), mount("run", "/run", "tmpfs", 0, 0);
  if (symlink("/run", "/var/run") && errno != EEXIST) fail("link", "/var/run");
  FILE *script = fopen("/scenario", "r");
  if (!script) fail("open", "/scenario");
  while (fgets(line, sizeof line, script)) {
    int n = 0;
    for (char *w = strtok(line, " \n"); w && n < WORDS - 1; w = strtok(0, " \n")) words[n++] = w;
    words[n] = 0;
    if (!n) continue;
    if (!strcmp(words[0], "module")) module(words[1]);
    else if (!strcmp(words[0], "space")) enter(words[1]);
    else if (!strcmp(words[0], "write")) {
      for (int i = 3; i < n; i++) words[i][-1] = ' '; // the value may have spaces
      put(words[1], words[2]);
    } else if (!strcmp(words[0], "flow") && n_flows < FLOWS) {
      struct flow *f = &flows[n_flows++];
      snprintf(f->space, sizeof f->space, "%s", words[1]), snprintf(f->to, sizeof f->to, "%s", words[2]);
      snprintf(f->cc, sizeof f->cc, "%s", words[3]);
      f->is_dccp = !strcmp(f->cc, "ccid2"), f->payload = atoi(words[4]), f->mss = atoi(words[5]), f->before_t = -1;
      f->start = atof(words[6]), f->stop = atof(words[7]), f->left = atof(words[8]);
    } else if (!strcmp(words[0], "run")) run(atof(words[1]), atof(words[2]), atoi(words[3]));
    else call(words);
  }
  printf("RESULT\n%.*sEND\n", (int)used, text);
  fflush(stdout);
  fsync(1);
  sleep(1);
  reboot(RB_POWER_OFF);
}
