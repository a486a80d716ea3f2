/* Preloaded by tests: allocations of compiled code, which can be told to fail.
 *
 * Only calls from compiled code count: from code that belongs to no file, as what a Session runs,
 * or to a library whose name has "flowc_model" in it. Python and its libraries get what they want.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

enum { MOST = 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *live[MOST];
static int64_t count, first = INT64_MAX, last, lost;
static int counting;

/* From now on the allocations numbered `from` to `to` fail, the next one being the first. */
void flowc_fail(int64_t from, int64_t to) {
  first = from, last = to, count = 0, counting = 1;
}

int64_t flowc_allocations(void) { return count; }

/* How many blocks compiled code has that nobody has freed; what did not fit in the table too. */
int64_t flowc_live_blocks(void) {
  int64_t found = lost;
  for (int i = 0; i < MOST; i++) found += live[i] != NULL;
  return found;
}

static int is_compiled_code(void *address) {
  Dl_info about;
  if (!counting) return 0;
  return !dladdr(address, &about) || (about.dli_fname && strstr(about.dli_fname, "flowc_model"));
}

static int may_have(void) {
  int64_t number = __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
  return number < first || number > last;
}

static void *noted(void *block) {
  int i = 0;
  pthread_mutex_lock(&lock);
  while (i < MOST && live[i]) i++;
  if (i < MOST) live[i] = block;
  else lost++;
  pthread_mutex_unlock(&lock);
  return block;
}

void *malloc(size_t size) {
  if (!is_compiled_code(__builtin_return_address(0))) return __libc_malloc(size);
  if (!may_have()) return NULL;
  return noted(__libc_malloc(size));
}

int posix_memalign(void **place, size_t align, size_t size) {
  int is_counted = is_compiled_code(__builtin_return_address(0));
  if (is_counted && !may_have()) return ENOMEM;
  void *block = __libc_memalign(align, size);
  if (!block) return ENOMEM;
  *place = is_counted ? noted(block) : block;
  return 0;
}

void free(void *block) {
  if (counting && block) {
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MOST; i++)
      if (live[i] == block) live[i] = NULL;
    pthread_mutex_unlock(&lock);
  }
  __libc_free(block);
}
