// Registers the congestion control of a BPF object under a name of one's own, for as long as this process lives.
//
//   struct_ops OBJECT NAME
//
// Says "ready" when it is registered, then waits until its input ends. The registration lasts as long as a BPF link whose only
// descriptor is here: however this process ends, the kernel takes it away. (bpftool's registration would outlive it.)
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PLACEHOLDER "tcpfair_name_xx"  // TCP_CA_NAME_MAX - 1 characters
#define MAP_OF_LINK (1U << 13)         // BPF_F_LINK and BPF_STRUCT_OPS, which older headers lack
#define ATTACH_STRUCT_OPS 44

static int fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  return 1;
}

// The whole file, with the placeholder replaced; exactly one must be there.
static char *object_named(const char *path, const char *name, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  *size = ftell(file);
  rewind(file);
  char *bytes = malloc(*size);
  if (!bytes || fread(bytes, 1, *size, file) != *size) return NULL;
  fclose(file);
  char *found = NULL;
  for (size_t i = 0; i + sizeof PLACEHOLDER <= *size; i++) {
    if (memcmp(bytes + i, PLACEHOLDER, sizeof PLACEHOLDER)) continue;
    if (found) return NULL;
    found = bytes + i;
  }
  if (!found) return NULL;
  memset(found, 0, sizeof PLACEHOLDER);
  memcpy(found, name, strlen(name));
  return bytes;
}

int main(int argc, char **argv) {
  if (argc != 3 || !*argv[2] || strlen(argv[2]) >= sizeof PLACEHOLDER) {
    fprintf(stderr, "usage: struct_ops OBJECT NAME (of at most %zu characters)\n", sizeof PLACEHOLDER - 1);
    return 2;
  }
  size_t size;
  char *bytes = object_named(argv[1], argv[2], &size);
  if (!bytes) return fail(argv[1]);
  LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "tcpfair");
  struct bpf_object *object = bpf_object__open_mem(bytes, size, &options);
  if (!object) return fail("open");
  struct bpf_map *map, *ops = NULL;
  bpf_object__for_each_map(map, object) if (bpf_map__type(map) == BPF_MAP_TYPE_STRUCT_OPS) ops = map;
  if (!ops || bpf_map__set_map_flags(ops, MAP_OF_LINK)) return fail("struct_ops map");
  if (bpf_object__load(object)) return fail("load");
  if (!bpf_map__attach_struct_ops(ops)) return fail("values");
  union bpf_attr attr = {.link_create = {.prog_fd = bpf_map__fd(ops), .attach_type = ATTACH_STRUCT_OPS}};
  if (syscall(__NR_bpf, BPF_LINK_CREATE, &attr, sizeof attr) < 0) return fail("link");
  puts("ready");
  fflush(stdout);
  char byte;
  while (read(0, &byte, 1) > 0) {}
  return 0;
}
