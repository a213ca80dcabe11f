/*
 * Makes one write, sync or truncation of an index's files fail, as on a failing disk. Loaded with LD_PRELOAD; what fails,
 * and when, is in memory shared with the process that runs the trial (FAULTS names the file).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

struct control {
  /* The operation that fails, counted from 1; 0 for none. */
  _Atomic int32_t at;
  /* Operations since the count was last set to 0. */
  _Atomic int32_t count;
  _Atomic int32_t error;
  /* Whether all later operations fail too. */
  _Atomic int32_t lasting;
  /* How many have failed. */
  _Atomic int32_t failed;
};

static struct control *control;
static const char *prefix;

__attribute__((constructor)) static void begin(void) {
  const char *name = getenv("FAULTS");
  prefix = getenv("FAULTS_PATH");
  if (name == NULL || prefix == NULL) return;
  int fd = open(name, O_RDWR);
  if (fd < 0) return;
  void *at = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (at != MAP_FAILED) control = at;
}

/* Whether this operation on one of the index's files should fail. */
static int fails(int fd) {
  if (control == NULL || atomic_load(&control->at) == 0) return 0;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  if (strncmp(path, prefix, strlen(prefix)) != 0) return 0;
  int32_t now = atomic_fetch_add(&control->count, 1) + 1;
  int32_t at = atomic_load(&control->at);
  if (now != at && !(now > at && atomic_load(&control->lasting))) return 0;
  atomic_fetch_add(&control->failed, 1);
  errno = atomic_load(&control->error);
  return 1;
}

#define REAL(name, type)                                                                                               \
  static type real;                                                                                                    \
  if (real == NULL) real = (type)dlsym(RTLD_NEXT, name);

typedef ssize_t (*write_t)(int, const void *, size_t);
typedef ssize_t (*pwrite_t)(int, const void *, size_t, off_t);
typedef int (*sync_t)(int);
typedef int (*truncate_t)(int, off_t);

ssize_t write(int fd, const void *data, size_t size) {
  REAL("write", write_t)
  return fd > 2 && fails(fd) ? -1 : real(fd, data, size);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
  REAL("pwrite", pwrite_t)
  return fails(fd) ? -1 : real(fd, data, size, at);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off_t at) {
  REAL("pwrite64", pwrite_t)
  return fails(fd) ? -1 : real(fd, data, size, at);
}
int fsync(int fd) {
  REAL("fsync", sync_t)
  return fails(fd) ? -1 : real(fd);
}
int fdatasync(int fd) {
  REAL("fdatasync", sync_t)
  return fails(fd) ? -1 : real(fd);
}
int ftruncate(int fd, off_t size) {
  REAL("ftruncate", truncate_t)
  return fails(fd) ? -1 : real(fd, size);
}
int ftruncate64(int fd, off_t size) {
  REAL("ftruncate64", truncate_t)
  return fails(fd) ? -1 : real(fd, size);
}
