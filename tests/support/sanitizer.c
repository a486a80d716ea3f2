/* What instrumented code calls, over the shadow memory of the address sanitizer, which the process
 * preloads: checks that note what is wrong and let the program go on, and an arena whose blocks are
 * pieces of the heap of exactly the size that was asked for, so that what stands beside each is
 * poisoned.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 64, MOST = 64, NO_MEMORY = 5 };

struct report {
  const char *where;
  const char *kind;
  int64_t bytes;
};

static struct report reports[MOST];
static int64_t count;
static int fill;
static int64_t shortened;

extern void *__asan_region_is_poisoned(void *begin, size_t size);
extern void __asan_poison_memory_region(void const volatile *begin, size_t size);
extern void __asan_unpoison_memory_region(void const volatile *begin, size_t size);

/* One row for each place of the code. */
static void note(const char *where, const char *kind, int64_t bytes) {
  for (int64_t i = 0; i < count; i++)
    if (reports[i].where == where) return;
  if (count == MOST) return;
  reports[count++] = (struct report){where, kind, bytes};
}

void flowc_check_memory(void *address, int64_t bytes, const char *where) {
  if (bytes > 0 && __asan_region_is_poisoned(address, (size_t)bytes)) note(where, "memory", bytes);
}

void flowc_check_value(int64_t is_wrong, const char *where) {
  if (is_wrong) note(where, "value", 0);
}

void *flowc_exact_acquire(int64_t bytes) {
  void *block;
  bytes = bytes > shortened ? bytes - shortened : bytes;
  if (bytes < 0 || bytes > INT64_C(1) << 40) return NULL;
  if (posix_memalign(&block, 64, HEADER + (size_t)bytes)) return NULL;
  *(int64_t *)block = bytes + HEADER;
  memset((char *)block + HEADER, fill, (size_t)bytes);
  __asan_poison_memory_region((char *)block + 8, HEADER - 8);
  return (char *)block + HEADER;
}

void flowc_exact_release(void *address) {
  if (!address) return;
  __asan_unpoison_memory_region((char *)address - HEADER, HEADER);
  free((char *)address - HEADER);
}

/* As runtime/flowc_runtime/native/arena.py says, but never more than is asked for. */
int64_t flowc_exact_grow(void **place, int64_t bytes, int64_t kept, int64_t *room,
                         int64_t *status, int64_t row) {
  char *old = *place, *made;
  int64_t has = old ? *(int64_t *)(old - HEADER) - HEADER : -1;
  int64_t more = bytes - (has > 0 ? has : 0);
  if (has >= bytes) return 0;
  made = *room < more ? NULL : flowc_exact_acquire(bytes);
  if (!made) {
    status[0] = NO_MEMORY;
    status[1] = *room < more ? row : row + 1;
    status[2] = *room < more ? more : bytes;
    status[3] = *room;
    return NO_MEMORY;
  }
  *room -= more;
  if (kept > 0) memcpy(made, old, (size_t)kept);
  flowc_exact_release(old);
  *place = made;
  return 0;
}

void flowc_sanitizer_poison(void *begin, int64_t bytes) {
  if (bytes > 0) __asan_poison_memory_region(begin, (size_t)bytes);
}

void flowc_sanitizer_unpoison(void *begin, int64_t bytes) {
  if (bytes > 0) __asan_unpoison_memory_region(begin, (size_t)bytes);
}

/* The byte that memory of the arena is filled with. */
void flowc_sanitizer_fill(int byte) { fill = byte; }

/* How many bytes are missing in what the arena gives, for tests of the checks. */
void flowc_sanitizer_shorten(int64_t bytes) { shortened = bytes; }

int64_t flowc_sanitizer_count(void) { return count; }
struct report *flowc_sanitizer_reports(void) { return reports; }
void flowc_sanitizer_forget(void) { count = 0; }
