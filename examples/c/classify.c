/* Runs a compiled model from C: reads what it wants, feeds it numbers, prints what it answers.
 *
 *   flowc compile model.meta -o model.so --emit so,header
 *   cc -O2 classify.c -I DIR_OF_MODEL_H -L DIR_OF_MODEL_SO -l:model.so -Wl,-rpath,DIR -o classify
 *   ./classify inputs.bin [labels.bin]
 *
 * inputs.bin holds the elements of the model's first input one example after another, as they are in
 * memory (NumPy: array.tofile). The model's first dim is the batch. The program prints the largest
 * output of each example and its place; with labels.bin (one int64 per example) also the accuracy,
 * and at the end how long a batch and a single example take. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_DIMS = 16 };

static void stop(const char *what) {
  fprintf(stderr, "%s: %s\n", what, flowc_last_error());
  exit(1);
}

static void *read_file(const char *path, size_t *bytes) {
  FILE *file = fopen(path, "rb");
  long size;
  void *data;
  if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0) {
    perror(path);
    exit(1);
  }
  rewind(file);
  data = malloc((size_t)size + 1);
  if (!data || fread(data, 1, (size_t)size, file) != (size_t)size) {
    perror(path);
    exit(1);
  }
  fclose(file);
  *bytes = (size_t)size;
  return data;
}

static double seconds(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Runs `times` times and gives the time of one run. */
static double run(const float *inputs, const int64_t *dims, float *outputs, int times) {
  const void *all_inputs[1] = {inputs};
  const int64_t *all_dims[1] = {dims};
  void *all_outputs[1] = {outputs};
  double start = seconds();
  for (int i = 0; i < times; i++)
    if (flowc_run(all_inputs, all_dims, all_outputs, NULL) != FLOWC_OK) stop("flowc_run");
  return (seconds() - start) / times;
}

int main(int argc, char **argv) {
  int64_t dims[MOST_DIMS], out_dims[MOST_DIMS];
  size_t width = 1, bytes, label_bytes = 0, examples, classes, right = 0;
  if (argc < 2) {
    fprintf(stderr, "usage: %s inputs.bin [labels.bin]\n", argv[0]);
    return 2;
  }
  if (flowc_abi_version() != FLOWC_ABI_VERSION || flowc_input_count() != 1 ||
      flowc_input_dtype(0) != FLOWC_F32 || flowc_output_dtype(0) != FLOWC_F32 ||
      flowc_output_count() != 1 || flowc_input_rank(0) < 1 || flowc_input_rank(0) > MOST_DIMS ||
      flowc_output_rank(0) != 2) {
    fprintf(stderr, "%s: this program wants one f32 input and one f32[batch, classes] output\n",
            flowc_model_name());
    return 2;
  }
  if (flowc_input_dims(0, dims)) stop("flowc_input_dims");
  for (int32_t axis = 1; axis < flowc_input_rank(0); axis++) width *= (size_t)dims[axis];
  float *inputs = read_file(argv[1], &bytes);
  int64_t *labels = argc > 2 ? read_file(argv[2], &label_bytes) : NULL;
  examples = bytes / (width * sizeof *inputs);
  dims[0] = (int64_t)examples;

  const int64_t *all_dims[1] = {dims};
  if (flowc_output_dims_for(all_dims, 0, out_dims)) stop("flowc_output_dims_for");
  classes = (size_t)out_dims[1];
  float *outputs = malloc((size_t)out_dims[0] * classes * sizeof *outputs + 1);
  if (!outputs) return 5;
  run(inputs, dims, outputs, 1);

  for (size_t i = 0; i < examples; i++) {
    const float *row = outputs + i * classes;
    size_t best = 0;
    for (size_t c = 1; c < classes; c++)
      if (row[c] > row[best]) best = c;
    if (!labels) printf("%zu: class %zu (%g)\n", i, best, row[best]);
    if (labels && i < label_bytes / 8) right += (int64_t)best == labels[i];
  }
  if (labels) printf("%zu of %zu right (%.2f %%)\n", right, examples, 100.0 * right / examples);

  double batch = run(inputs, dims, outputs, 20);
  dims[0] = 1;
  double single = run(inputs, dims, outputs, 1000);
  printf("%d threads: %.1f us for a batch of %zu, %.1f us for one\n", (int)flowc_get_threads(),
         batch * 1e6, examples, single * 1e6);
  free(inputs);
  free(labels);
  free(outputs);
  return 0;
}
