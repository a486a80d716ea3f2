/* Calls the hand-written test model through dlopen: right and wrong arguments, many threads, unload.
 * Usage: check_model MODEL.so. Prints each fault; exits 0 when there is none. */
#define _GNU_SOURCE
#include "hand.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int faults = 0;
#define CHECK(condition)                                                            \
  do {                                                                              \
    if (!(condition)) {                                                             \
      fprintf(stderr, "line %d: %s (last error: %s)\n", __LINE__, #condition,       \
              last_error ? last_error() : "?");                                     \
      __atomic_fetch_add(&faults, 1, __ATOMIC_RELAXED);                             \
    }                                                                               \
  } while (0)

static __typeof__(&flowc_abi_version) abi_version;
static __typeof__(&flowc_version) version;
static __typeof__(&flowc_model_name) model_name;
static __typeof__(&flowc_metadata) metadata;
static __typeof__(&flowc_input_count) input_count;
static __typeof__(&flowc_input_name) input_name;
static __typeof__(&flowc_input_dtype) input_dtype;
static __typeof__(&flowc_input_rank) input_rank;
static __typeof__(&flowc_input_dims) input_dims;
static __typeof__(&flowc_input_dim_name) input_dim_name;
static __typeof__(&flowc_output_count) output_count;
static __typeof__(&flowc_output_name) output_name;
static __typeof__(&flowc_output_dtype) output_dtype;
static __typeof__(&flowc_output_rank) output_rank;
static __typeof__(&flowc_output_dims) output_dims;
static __typeof__(&flowc_output_dim_name) output_dim_name;
static __typeof__(&flowc_output_dims_for) output_dims_for;
static __typeof__(&flowc_run) run;
static __typeof__(&flowc_set_threads) set_threads;
static __typeof__(&flowc_get_threads) get_threads;
static __typeof__(&flowc_set_max_memory) set_max_memory;
static __typeof__(&flowc_get_max_memory) get_max_memory;
static __typeof__(&flowc_check_weights) check_weights;
static __typeof__(&flowc_free) give_back;
static __typeof__(&flowc_last_error) last_error;

static void *library;

static void find(const char *name, void *place) {
  void *found = dlsym(library, name);
  if (!found) {
    fprintf(stderr, "no %s: %s\n", name, dlerror());
    exit(1);
  }
  memcpy(place, &found, sizeof found);
}

static void open_library(const char *path) {
  library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
#define FIND(name) find("flowc_" #name, &name)
  FIND(abi_version); FIND(version); FIND(model_name); FIND(metadata);
  FIND(input_count); FIND(input_name); FIND(input_dtype); FIND(input_rank);
  FIND(input_dims); FIND(input_dim_name);
  FIND(output_count); FIND(output_name); FIND(output_dtype); FIND(output_rank);
  FIND(output_dims); FIND(output_dim_name);
  FIND(output_dims_for); FIND(run); FIND(set_threads); FIND(get_threads); FIND(last_error);
  FIND(set_max_memory); FIND(get_max_memory);
  FIND(check_weights);
  find("flowc_free", &give_back);
}

static int says(const char *part) { return strstr(last_error(), part) != NULL; }

static void check_description(void) {
  int64_t dims[2] = {0, 0};
  CHECK(abi_version() == FLOWC_ABI_VERSION);
  CHECK(strcmp(model_name(), "hand") == 0 && strlen(version()) > 0 && metadata()[0] == '{');
  CHECK(input_count() == HAND_INPUTS && output_count() == HAND_OUTPUTS);
  CHECK(strcmp(input_name(HAND_INPUT_IN_X), "in/x:0") == 0 && input_name(2) == NULL);
  CHECK(input_name(-1) == NULL && output_name(99) == NULL);
  CHECK(strcmp(output_name(HAND_OUTPUT_Y), "y:0") == 0);
  CHECK(input_dtype(0) == FLOWC_F32 && input_dtype(1) == FLOWC_I64 && input_dtype(7) == 0);
  CHECK(input_rank(0) == 2 && input_rank(1) == 0 && input_rank(-5) == -1);
  CHECK(output_dtype(1) == FLOWC_F32 && output_rank(1) == 1);
  CHECK(input_dims(0, dims) == 0 && dims[0] == -1 && dims[1] == 4);
  CHECK(input_dims(0, NULL) == FLOWC_BAD_ARGUMENT && input_dims(1, NULL) == FLOWC_OK);
  CHECK(input_dims(9, dims) == FLOWC_BAD_ARGUMENT && says("no input 9"));
  CHECK(output_dims(1, dims) == 0 && dims[0] == -1);
  CHECK(strcmp(input_dim_name(0, 0), "batch") == 0 && input_dim_name(0, 1) == NULL);
  CHECK(input_dim_name(0, 2) == NULL && input_dim_name(0, -1) == NULL);
  CHECK(input_dim_name(5, 0) == NULL && strcmp(output_dim_name(1, 0), "kept_count") == 0);
}

static void check_threads(void) {
  CHECK(get_threads() >= 1);
  CHECK(set_threads(3) == FLOWC_OK && get_threads() == 3);
  CHECK(set_threads(-1) == FLOWC_BAD_ARGUMENT && says("-1"));
  CHECK(set_threads(1025) == FLOWC_BAD_ARGUMENT && get_threads() == 3);
  CHECK(set_threads(0) == FLOWC_OK && get_threads() >= 1);
  CHECK(set_threads(4) == FLOWC_OK);
}

static void check_max_memory(void) {
  CHECK(get_max_memory() == 0);
  CHECK(set_max_memory(-1) == FLOWC_BAD_ARGUMENT && says("-1 bytes") && get_max_memory() == 0);
  CHECK(set_max_memory((int64_t)1 << 40) == FLOWC_OK && get_max_memory() == (int64_t)1 << 40);
  CHECK(set_max_memory(0) == FLOWC_OK);
}

static void check_wrong_arguments(void) {
  float x[12] = {0}, y[12], kept[12];
  int64_t k = 1, rows[2] = {3, 4}, wrong[2] = {3, 5}, negative[2] = {-3, 4};
  int64_t huge[2] = {INT64_MAX / 2, 4}, none[2] = {0, 4}, found[2];
  const void *inputs[2] = {x, &k};
  void *outputs[3] = {y, kept, NULL};
  const int64_t *dims[2] = {rows, NULL};
  CHECK(run(inputs, dims, outputs, NULL) == FLOWC_OK && *(int64_t *)outputs[2] == 0);
  CHECK(run(inputs, dims, outputs, NULL) == FLOWC_BAD_ARGUMENT && says("'steps:0' has no bound"));
  give_back(outputs[2]);
  give_back(NULL);
  outputs[2] = NULL;
  CHECK(run(NULL, dims, outputs, NULL) == FLOWC_BAD_ARGUMENT && says("inputs is NULL"));
  CHECK(run(inputs, dims, NULL, NULL) == FLOWC_BAD_ARGUMENT && says("outputs is NULL"));
  CHECK(run(inputs, NULL, outputs, NULL) == FLOWC_BAD_ARGUMENT && says("in/x:0"));
  dims[0] = NULL;
  CHECK(run(inputs, dims, outputs, NULL) == FLOWC_BAD_ARGUMENT && says("needs its dims"));
  dims[0] = wrong;
  CHECK(run(inputs, dims, outputs, NULL) == FLOWC_BAD_ARGUMENT);
  CHECK(says("'in/x:0' has dims [3, 5], expected [batch, 4]: dimension 1 is 5, expected 4"));
  dims[0] = negative;
  CHECK(run(inputs, dims, outputs, NULL) == FLOWC_BAD_ARGUMENT && says("0 or more"));
  dims[0] = huge;
  CHECK(run(inputs, dims, outputs, NULL) == FLOWC_BAD_ARGUMENT && says("too many elements"));
  dims[0] = rows;
  inputs[0] = NULL;
  CHECK(run(inputs, dims, outputs, NULL) == FLOWC_BAD_ARGUMENT && says("input 'in/x:0' is NULL"));
  inputs[0] = (char *)x + 1;
  CHECK(run(inputs, dims, outputs, NULL) == FLOWC_BAD_ARGUMENT && says("multiple of 4"));
  inputs[0] = x;
  outputs[1] = NULL;
  CHECK(run(inputs, dims, outputs, NULL) == FLOWC_BAD_ARGUMENT && says("output 'kept:0' is NULL"));
  dims[0] = none;
  inputs[0] = outputs[0] = NULL;
  CHECK(run(inputs, dims, outputs, NULL) == FLOWC_OK);
  give_back(outputs[2]);
  outputs[2] = NULL;
  CHECK(output_dims_for(dims, 1, found) == FLOWC_OK && found[0] == 0);
  dims[0] = rows;
  CHECK(output_dims_for(dims, 0, found) == FLOWC_OK && found[0] == 3 && found[1] == 4);
  CHECK(output_dims_for(dims, 1, found) == FLOWC_OK && found[0] == 12);
  CHECK(output_dims_for(dims, 2, found) == FLOWC_OK && found[0] == -1);
  CHECK(output_dims_for(dims, 3, found) == FLOWC_BAD_ARGUMENT && says("no output 3"));
  CHECK(output_dims_for(dims, 0, NULL) == FLOWC_BAD_ARGUMENT);
  CHECK(output_dims_for(NULL, 0, found) == FLOWC_BAD_ARGUMENT);
  inputs[0] = x;
  outputs[0] = y;
  outputs[1] = kept;
  k = -7;
  CHECK(run(inputs, dims, outputs, NULL) == FLOWC_INVALID);
  CHECK(says("k = -7 is not in [0, 100%) (node 'top/K')"));
  k = 11;
  CHECK(run(inputs, dims, outputs, NULL) == FLOWC_NO_MEMORY && says("bytes asked for"));
  CHECK(outputs[2] == NULL); /* what a failed run had allocated is given back */
}

/* y = x * w + sum(x), w = 1 2 3 4, in the order of additions of the model. */
static int check_once(int64_t batch, unsigned *seed) {
  size_t total = (size_t)batch * 4;
  float *x = malloc(total * 4 + 4), *y = malloc(total * 4 + 4), *kept = malloc(total * 4 + 4);
  for (size_t i = 0; i < total; i++) x[i] = (float)(rand_r(seed) % 2001 - 1000) / 64;
  int64_t k = rand_r(seed) % 5, dims[2] = {batch, 4}, step_dims[1] = {-1}, y_dims[2] = {-1, -1}, kept_dims[1] = {-1};
  const void *inputs[2] = {x, &k};
  const int64_t *all_dims[2] = {dims, NULL};
  void *outputs[3] = {y, kept, NULL};
  int64_t *found[3] = {y_dims, kept_dims, step_dims};
  int ok = run(inputs, all_dims, outputs, found) == FLOWC_OK;
  int64_t count = 0;
  for (int64_t row = 0; ok && row < batch; row++) {
    const float *v = x + row * 4;
    float sum = v[0] + v[1] + v[2] + v[3];
    for (int c = 0; c < 4; c++) {
      float right = v[c] * (float)(c + 1) + sum;
      ok = ok && y[row * 4 + c] == right;
      if (right > 0) ok = ok && kept[count++] == right;
    }
  }
  ok = ok && y_dims[0] == batch && y_dims[1] == 4 && kept_dims[0] == count;
  ok = ok && step_dims[0] == k && (k == 0 || ((int64_t *)outputs[2])[k - 1] == k - 1);
  give_back(outputs[2]);
  free(x);
  free(y);
  free(kept);
  return ok;
}

static void *work(void *number) {
  unsigned seed = (unsigned)(size_t)number;
  int64_t k = -(int64_t)(size_t)number - 1, dims[2] = {0, 4};
  const void *inputs[2] = {&k, &k};
  const int64_t *all_dims[2] = {dims, NULL};
  void *outputs[3] = {NULL, NULL, NULL};
  char expected[32];
  snprintf(expected, sizeof expected, "k = %lld is", (long long)k);
  for (int i = 0; i < 250; i++) {
    CHECK(check_once(1 + rand_r(&seed) % 40, &seed));
    CHECK(run(inputs, all_dims, outputs, NULL) == FLOWC_INVALID && says(expected));
  }
  return NULL;
}

static void check_threads_and_fork(void) {
  pthread_t threads[8];
  for (size_t i = 0; i < 8; i++) pthread_create(&threads[i], NULL, work, (void *)i);
  for (size_t i = 0; i < 8; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < 5; i++) {
    pid_t child = fork();
    unsigned seed = 5;
    int status = 1;
    if (child == 0) exit(check_once(50, &seed) ? 0 : 1);
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  for (int i = 0; i < 20; i++) { /* unloading stops the pool's threads and frees its memory */
    unsigned seed = (unsigned)i;
    open_library(argv[1]);
    CHECK(set_threads(4) == FLOWC_OK && check_once(33, &seed));
    dlclose(library);
  }
  open_library(argv[1]);
  CHECK(strcmp(last_error(), "") == 0);
  check_description();
  check_threads();
  check_max_memory();
  CHECK(check_weights() == FLOWC_OK);
  check_wrong_arguments();
  check_threads_and_fork();
  return faults ? 1 : 0;
}
