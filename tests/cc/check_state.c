/* Calls a model with variables: x: f32[batch, 2] -> twice = 2 * total; then total += sums of x's
 * columns, and steps (i64, no value at first) = 7. Right and wrong arguments, two instances, threads.
 * Usage: check_state. Prints each fault; exits 0 when there is none. */
#define _GNU_SOURCE
#include "counted.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int faults = 0;
#define CHECK(condition)                                                            \
  do {                                                                              \
    if (!(condition)) {                                                             \
      fprintf(stderr, "line %d: %s (last error: %s)\n", __LINE__, #condition,       \
              flowc_last_error());                                                  \
      __atomic_fetch_add(&faults, 1, __ATOMIC_RELAXED);                             \
    }                                                                               \
  } while (0)

enum { RUNS = 300, THREADS = 4 };

static int32_t step(flowc_instance *instance, int64_t rows, float value, float *twice) {
  float x[64];
  const int64_t dims[2] = {rows, 2};
  const int64_t *const input_dims[] = {dims};
  const void *inputs[] = {x};
  void *outputs[] = {twice};
  for (int64_t i = 0; i < rows * 2; i++) x[i] = value;
  return flowc_instance_run(instance, inputs, input_dims, outputs, NULL);
}

static int says(const char *part) { return strstr(flowc_last_error(), part) != NULL; }

static void check_description(void) {
  int64_t dims[1] = {0};
  CHECK(flowc_abi_version() == FLOWC_ABI_VERSION);
  CHECK(flowc_variable_count() == COUNTED_VARIABLES && COUNTED_VARIABLES == 2);
  CHECK(strcmp(flowc_variable_name(COUNTED_VARIABLE_TOTAL), "total") == 0);
  CHECK(flowc_variable_dtype(COUNTED_VARIABLE_TOTAL) == FLOWC_F32);
  CHECK(flowc_variable_rank(COUNTED_VARIABLE_TOTAL) == 1);
  CHECK(flowc_variable_dims(COUNTED_VARIABLE_TOTAL, dims) == FLOWC_OK && dims[0] == 2);
  CHECK(flowc_variable_rank(COUNTED_VARIABLE_STEPS) == 0);
  CHECK(flowc_variable_name(2) == NULL && flowc_variable_rank(-1) == -1);
  CHECK(flowc_input_count() == 1 && flowc_output_count() == 1);
}

static void check_runs(void) {
  flowc_instance *one = NULL, *other = NULL;
  float total[2], twice[2];
  int64_t steps = 0;
  CHECK(flowc_instance_create(&one) == FLOWC_OK && one);
  CHECK(flowc_instance_create(&other) == FLOWC_OK && other && other != one);
  CHECK(flowc_instance_read(one, COUNTED_VARIABLE_TOTAL, total) == FLOWC_OK);
  CHECK(total[0] == 10 && total[1] == 20);
  CHECK(flowc_instance_read(one, COUNTED_VARIABLE_STEPS, &steps) == FLOWC_BAD_ARGUMENT);
  CHECK(says("'steps' has no value yet"));
  for (int64_t rows = 1; rows <= 3; rows++) CHECK(step(one, rows, 1, twice) == FLOWC_OK);
  CHECK(twice[0] == 26 && twice[1] == 46);
  CHECK(flowc_instance_read(one, COUNTED_VARIABLE_TOTAL, total) == FLOWC_OK);
  CHECK(total[0] == 16 && total[1] == 26);
  CHECK(flowc_instance_read(one, COUNTED_VARIABLE_STEPS, &steps) == FLOWC_OK && steps == 7);
  CHECK(step(other, 1, 5, twice) == FLOWC_OK && twice[0] == 20 && twice[1] == 40);

  total[0] = 100, total[1] = 200;
  CHECK(flowc_instance_write(one, COUNTED_VARIABLE_TOTAL, total) == FLOWC_OK);
  total[0] = -1;
  CHECK(step(one, 0, 0, twice) == FLOWC_OK && twice[0] == 200 && twice[1] == 400);
  CHECK(step(one, 1, 0, twice) == FLOWC_OK && twice[0] == 200 && twice[1] == 400);
  CHECK(flowc_instance_reset(one) == FLOWC_OK);
  CHECK(flowc_instance_read(one, COUNTED_VARIABLE_TOTAL, total) == FLOWC_OK && total[0] == 10);
  CHECK(flowc_instance_read(one, COUNTED_VARIABLE_STEPS, &steps) == FLOWC_BAD_ARGUMENT);
  flowc_instance_destroy(one);
  CHECK(step(other, 1, 0, twice) == FLOWC_OK && twice[0] == 30);
  flowc_instance_destroy(other);
  flowc_instance_destroy(NULL);
}

static void check_wrong_arguments(void) {
  flowc_instance *instance = NULL;
  float x[2] = {0, 0}, twice[2];
  const int64_t dims[2] = {1, 2}, wrong[2] = {1, 3};
  const int64_t *const input_dims[] = {dims}, *const wrong_dims[] = {wrong};
  const void *inputs[] = {x};
  void *outputs[] = {twice};
  CHECK(flowc_instance_create(NULL) == FLOWC_BAD_ARGUMENT && says("instance is NULL"));
  CHECK(flowc_instance_create(&instance) == FLOWC_OK);
  CHECK(flowc_run(inputs, input_dims, outputs, NULL) == FLOWC_BAD_ARGUMENT);
  CHECK(says("has variables (total, steps)") && says("counted_instance_create"));
  CHECK(flowc_instance_run(NULL, inputs, input_dims, outputs, NULL) == FLOWC_BAD_ARGUMENT);
  CHECK(flowc_instance_run(instance, inputs, wrong_dims, outputs, NULL) == FLOWC_BAD_ARGUMENT);
  CHECK(says("dimension 1 is 3"));
  CHECK(flowc_instance_run(instance, NULL, input_dims, outputs, NULL) == FLOWC_BAD_ARGUMENT);
  CHECK(flowc_instance_read(instance, 2, x) == FLOWC_BAD_ARGUMENT && says("no variable 2"));
  CHECK(flowc_instance_write(instance, -1, x) == FLOWC_BAD_ARGUMENT && says("no variable -1"));
  CHECK(flowc_instance_read(instance, 0, NULL) == FLOWC_BAD_ARGUMENT && says("value is NULL"));
  CHECK(flowc_instance_read(NULL, 0, x) == FLOWC_BAD_ARGUMENT);
  CHECK(flowc_instance_reset(NULL) == FLOWC_BAD_ARGUMENT);
  CHECK(flowc_instance_run(instance, inputs, input_dims, outputs, NULL) == FLOWC_OK);
  flowc_instance_destroy(instance);
}

static void *add_many(void *instance) {
  float twice[2];
  for (int i = 0; i < RUNS; i++) CHECK(step(instance, 1, 1, twice) == FLOWC_OK);
  return NULL;
}

static void check_threads(void) {
  pthread_t threads[THREADS];
  flowc_instance *instance = NULL;
  float total[2];
  CHECK(flowc_instance_create(&instance) == FLOWC_OK);
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, add_many, instance);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  CHECK(flowc_instance_read(instance, COUNTED_VARIABLE_TOTAL, total) == FLOWC_OK);
  CHECK(total[0] == 10 + THREADS * RUNS && total[1] == 20 + THREADS * RUNS);
  flowc_instance_destroy(instance);
}

int main(void) {
  check_description();
  check_runs();
  check_wrong_arguments();
  check_threads();
  return faults != 0;
}
