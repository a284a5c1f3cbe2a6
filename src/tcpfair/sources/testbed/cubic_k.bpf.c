// The kernel's own CUBIC with another K: kozu2014's K / cbrt(RTT) and constant K, as BPF struct_ops.
//
// Every call goes to tcp_cubic's functions. Only when an epoch begins, which is when they work out K, is K put in place of
// theirs; all else (C, fast convergence, HyStart, the TCP-friendly region) stays as the kernel has it. So does the curve:
// it begins at W_max - C K^3 whatever the window is by then, as kozu2014's method has it.
//
// Compiled for the running kernel, whose types vmlinux.h has (bpftool btf dump), with
//   K_OF_RTT   K of the kernel, divided by the cube root of the least RTT in milliseconds (eq. 6), or
//   K_MS       K in milliseconds, whatever the kernel's (sec. 3.3 and 3.4); 0 leaves the kernel's
// and registered by bpftool. The name is a placeholder: the caller writes a name of its own into the object, since two
// testbeds at once need two.
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#ifndef K_MS
#define K_MS 0
#endif
#define TICKS_PER_S 1024  // the unit of bic_K

char LICENSE[] SEC("license") = "GPL";

extern void cubictcp_init(struct sock *sk) __ksym;
extern u32 cubictcp_recalc_ssthresh(struct sock *sk) __ksym;
extern void cubictcp_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;
extern void cubictcp_state(struct sock *sk, u8 new_state) __ksym;
extern void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event) __ksym;
extern void cubictcp_acked(struct sock *sk, const struct ack_sample *sample) __ksym;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

#ifdef K_OF_RTT
// Cube root by Newton's steps from above: a fixed number of them and no branches, which the verifier would all walk.
static __always_inline u64 cube_root(u64 x) {
  u64 root = 1 << 21;
#pragma clang loop unroll(full)
  for (int i = 0; i < 40; i++) root = (2 * root + x / (root * root | 1)) / 3;
  return root;
}
#endif

static __always_inline u32 other_k(u32 k, u32 least_rtt_us) {
#ifdef K_OF_RTT
  u64 root_256 = cube_root((u64)least_rtt_us << 24);  // of microseconds: ten times that of milliseconds
  return (u64)k * 10 * 256 / (root_256 | 1);
#else
  return K_MS ? (u32)(K_MS * TICKS_PER_S / 1000) : k;
#endif
}

SEC("struct_ops") void BPF_PROG(k_init, struct sock *sk) { cubictcp_init(sk); }
SEC("struct_ops") u32 BPF_PROG(k_ssthresh, struct sock *sk) { return cubictcp_recalc_ssthresh(sk); }
SEC("struct_ops") void BPF_PROG(k_state, struct sock *sk, u8 new_state) { cubictcp_state(sk, new_state); }
SEC("struct_ops") void BPF_PROG(k_event, struct sock *sk, enum tcp_ca_event event) { cubictcp_cwnd_event(sk, event); }
SEC("struct_ops") void BPF_PROG(k_acked, struct sock *sk, const struct ack_sample *sample) { cubictcp_acked(sk, sample); }
SEC("struct_ops") u32 BPF_PROG(k_undo, struct sock *sk) { return tcp_reno_undo_cwnd(sk); }

SEC("struct_ops") void BPF_PROG(k_cong_avoid, struct sock *sk, u32 ack, u32 acked) {
  struct bictcp *ca = (struct bictcp *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
  bool began = ca->epoch_start != 0;
  cubictcp_cong_avoid(sk, ack, acked);
  if (began || !ca->epoch_start || !ca->bic_K) return;  // no epoch begins here, or there is no W_max to return to
  ca->bic_K = other_k(ca->bic_K, ca->delay_min);
  ca->last_cwnd = 0;  // the step to the curve is worked out anew at the next ACK
  ca->last_time--;
}

SEC(".struct_ops")
struct tcp_congestion_ops cubic_k = {
    .init = (void *)k_init,
    .ssthresh = (void *)k_ssthresh,
    .cong_avoid = (void *)k_cong_avoid,
    .set_state = (void *)k_state,
    .undo_cwnd = (void *)k_undo,
    .cwnd_event = (void *)k_event,
    .pkts_acked = (void *)k_acked,
    .name = "tcpfair_name_xx",
};
