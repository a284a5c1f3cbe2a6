// The guest's program for a kernel without network namespaces and netem: agent.c, but with the dumbbell in this process, behind a TUN
// device. It swaps the two addresses of every packet, which changes no checksum, so that one socket of this host reaches another across
// the dumbbell. It never sleeps, so that the guest's clock always counts instructions.
#define main agent_main
#include "agent.c"
#undef main
#include <linux/if_tun.h>
#include <sys/ioctl.h>
enum { PACKET = 2048, RING = 1 << 13 };

struct ring { // packets in the order of the times at which they are due
  struct { double due; int length; unsigned char data[PACKET]; } *at;
  unsigned head, tail;
};
static struct path {
  struct ring back;
  double rtt, last;
  int is_quick;
  long data, acks, dropped;
} paths[FLOWS];
static struct ring forward;
static int tun, limit;
static double rate, headers, jitter, loss, free_at;
static long long forwarded, dropped;
static unsigned long long state = 88172645463325252ull;

static double uniform(void) { // xorshift64*
  state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
  return ((state * 2685821657736338717ull) >> 11) / 9007199254740992.0;
}
static void set(int s, struct ifreq *r, unsigned long what, const char *address) {
  struct sockaddr_in a = {.sin_family = AF_INET};
  if (address) inet_pton(AF_INET, address, &a.sin_addr), memcpy(&r->ifr_addr, &a, sizeof a);
  if (ioctl(s, what, r)) fail("tun0", address ? address : "");
}
static void device(int mtu) {
  struct ifreq r = {.ifr_name = "tun0", .ifr_flags = IFF_TUN | IFF_NO_PI};
  int s = socket(AF_INET, SOCK_DGRAM, 0);
  if ((tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK)) < 0) fail("open", "/dev/net/tun");
  set(tun, &r, TUNSETIFF, 0);
  set(s, &r, SIOCSIFADDR, "10.0.0.1");
  set(s, &r, SIOCSIFNETMASK, "255.0.0.0");
  r.ifr_mtu = mtu, set(s, &r, SIOCSIFMTU, 0);
  r.ifr_qlen = 100000, set(s, &r, SIOCSIFTXQLEN, 0); // a full queue of the interface would reduce windows
  r.ifr_flags = IFF_UP | IFF_RUNNING | IFF_POINTOPOINT | IFF_NOARP, set(s, &r, SIOCSIFFLAGS, 0);
  close(s);
}
static void push(struct ring *r, const unsigned char *data, int length, double due) {
  if (r->tail - r->head == RING) fail("ring", "full");
  r->at[r->tail % RING].due = due, r->at[r->tail % RING].length = length;
  memcpy(r->at[r->tail++ % RING].data, data, length);
}
static int pop(struct ring *r, double t) { // hand over the packets that are due
  int count = 0;
  for (; r->head != r->tail && r->at[r->head % RING].due <= t; r->head++, count++)
    if (write(tun, r->at[r->head % RING].data, r->at[r->head % RING].length) < 0) fail("tun0", "write");
  return count;
}
static int from_kernel(void) {
  static unsigned char p[PACKET];
  int length, count = 0;
  while ((length = read(tun, p, sizeof p)) > 0) {
    unsigned char *ports = p + 4 * (p[0] & 15), source[4]; // at the same place in TCP and DCCP
    int from = ports[0] << 8 | ports[1], to = ports[2] << 8 | ports[3];
    int is_data = to >= PORT && to < PORT + n_flows, i = (is_data ? to : from) - PORT;
    double t = now();
    if (p[0] >> 4 != 4 || i < 0 || i >= n_flows) continue;
    struct path *x = &paths[i];
    count++;
    memcpy(source, p + 12, 4), memcpy(p + 12, p + 16, 4), memcpy(p + 16, source, 4);
    if (!is_data) {
      double due = t + x->rtt + jitter * uniform();
      x->last = due > x->last ? due : x->last; // in order
      push(&x->back, p, length, x->last);
      continue;
    }
    x->data++;
    if (loss > 0 && uniform() < loss) continue;
    if (forward.tail - forward.head >= (unsigned)limit) {
      dropped++, x->dropped++;
      continue;
    }
    free_at = (t > free_at ? t : free_at) + (length + headers) * 8 / rate;
    push(&forward, p, length, free_at);
  }
  return count;
}
static int to_kernel(void) {
  double t = now();
  int count = pop(&forward, t);
  forwarded += count;
  for (int i = 0; i < n_flows; i++) {
    int own = pop(&paths[i].back, t);
    paths[i].acks += own, count += own;
  }
  return count;
}
static void dumbbell(void) {
  do from_kernel();
  while (to_kernel());
}
static int end_of(struct flow *f) {
  int s = socket(AF_INET, f->is_dccp ? SOCK_DCCP_TYPE : SOCK_STREAM, f->is_dccp ? DCCP : 0);
  unsigned service = htonl(42);
  if (s < 0) fail("socket", f->cc);
  if (f->is_dccp) setsockopt(s, SOL_DCCP_LEVEL, DCCP_SERVICE, &service, sizeof service);
  else if (setsockopt(s, IPPROTO_TCP, TCP_MAXSEG, &f->mss, sizeof f->mss)) fail("mss", f->cc);
  fcntl(s, F_SETFL, O_NONBLOCK);
  return s;
}
static void connect_flow(struct flow *f, int number) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(PORT + number)};
  int listening = end_of(f);
  inet_pton(AF_INET, "10.0.0.1", &a.sin_addr);
  if (bind(listening, (void *)&a, sizeof a) || listen(listening, 1)) fail("listen", f->cc);
  f->out = end_of(f);
  if (!f->is_dccp && setsockopt(f->out, IPPROTO_TCP, TCP_CONGESTION, f->cc, strlen(f->cc))) fail("algorithm", f->cc);
  snprintf(f->to, sizeof f->to, "10.1.%d.1", number);
  inet_pton(AF_INET, f->to, &a.sin_addr);
  if (connect(f->out, (void *)&a, sizeof a) && errno != EINPROGRESS) fail("connect", f->cc);
  while ((f->in = accept(listening, 0, 0)) < 0) {
    if (errno != EAGAIN) fail("accept", f->cc);
    dumbbell();
  }
  close(listening);
  fcntl(f->in, F_SETFL, O_NONBLOCK);
}
static void work(double t, double begin) { // what the sockets can do now
  struct pollfd fds[2 * FLOWS];
  int one = 1;
  for (int i = 0; i < n_flows; i++) {
    struct flow *f = &flows[i];
    if (f->is_dccp) transmit(f, t); // its socket has no writable state
    fds[2 * i] = (struct pollfd){!f->is_dccp && !f->is_stopped && t >= f->start ? f->out : -1, POLLOUT, 0};
    fds[2 * i + 1] = (struct pollfd){f->in, POLLIN, 0};
  }
  if (poll(fds, 2 * n_flows, 0) <= 0) return;
  for (int i = 0; i < n_flows; i++) {
    struct flow *f = &flows[i];
    if (fds[2 * i + 1].revents) receive(f);
    if (fds[2 * i + 1].revents && paths[i].is_quick) setsockopt(f->in, IPPROTO_TCP, TCP_QUICKACK, &one, sizeof one);
    double at = now() - begin;
    if (fds[2 * i].revents || (!f->is_dccp && at >= f->stop)) transmit(f, at);
  }
}
static void run_behind_tun(double duration, double sample, int ticks) {
  for (int i = 0; i < n_flows; i++) connect_flow(&flows[i], i);
  double begin = floor(now()) + LEAD_S, tick = sample / ticks;
  long last = lround(duration / tick);
  while (now() < begin) dumbbell();
  for (long k = 0; k <= last; k++) {
    for (double t = now() - begin; t < k * tick; t = now() - begin) {
      dumbbell();
      work(t, begin);
      __asm__ volatile(".rept 4000; nop; .endr"); // 16 us of the guest, which QEMU counts at once
    }
    for (int i = 0; i < n_flows; i++) observe(i, k * tick, k % ticks == 0);
    if (k % ticks == 0)
      used += sprintf(text + used, "link %.6f %lld %lld %u\n", k * tick, forwarded, dropped, forward.tail - forward.head);
  }
  for (int i = 0; i < n_flows; i++)
    used += sprintf(text + used, "packets %d %ld %ld %ld\n", i, paths[i].data, paths[i].acks, paths[i].dropped);
}
int main(void) {
  static char line[LINE];
  char *w[WORDS];
  text = malloc(room);
  mkdir("/proc", 0755), mkdir("/dev", 0755), mkdir("/dev/net", 0755);
  mount("proc", "/proc", "proc", 0, 0);
  mknod("/dev/net/tun", S_IFCHR | 0600, 10 << 8 | 200);
  forward.at = calloc(RING, sizeof *forward.at);
  FILE *script = fopen("/scenario", "r");
  if (!script) fail("open", "/scenario");
  while (fgets(line, sizeof line, script)) {
    int n = 0;
    for (char *next = strtok(line, " \n"); next && n < WORDS - 1; next = strtok(0, " \n")) w[n++] = next;
    if (!n) continue;
    if (!strcmp(w[0], "write")) {
      for (int i = 3; i < n; i++) w[i][-1] = ' '; // the value may have spaces
      put(w[1], w[2]);
    } else if (!strcmp(w[0], "link")) { // bit/s, packets, bytes of headers, s, probability, bytes, seed
      rate = atof(w[1]), limit = atoi(w[2]), headers = atof(w[3]), jitter = atof(w[4]), loss = atof(w[5]);
      device(atoi(w[6]));
      state += 0x9E3779B97F4A7C15ull * strtoull(w[7], 0, 10);
      for (int i = 0; i < 20; i++) uniform();
    } else if (!strcmp(w[0], "flow") && n_flows < FLOWS) { // s, algorithm, bytes, bytes, s, s, bytes, 0 or 1
      struct flow *f = &flows[n_flows];
      struct path *x = &paths[n_flows++];
      x->back.at = calloc(RING, sizeof *x->back.at), x->rtt = atof(w[1]), x->is_quick = atoi(w[8]);
      snprintf(f->cc, sizeof f->cc, "%s", w[2]);
      f->is_dccp = !strcmp(f->cc, "ccid2"), f->payload = atoi(w[3]), f->mss = atoi(w[4]), f->before_t = -1;
      f->start = atof(w[5]), f->stop = atof(w[6]), f->left = atof(w[7]);
    } else if (!strcmp(w[0], "run")) run_behind_tun(atof(w[1]), atof(w[2]), atoi(w[3]));
  }
  printf("RESULT\n%.*sEND\n", (int)used, text);
  fflush(stdout);
  fsync(1);
  sleep(1);
  reboot(RB_AUTOBOOT); // no ACPI to power off
}
