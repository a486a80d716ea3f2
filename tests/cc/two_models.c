/* Two models in one program, each by its own functions; linked with shared or static libraries. */
#include "digits.h"
#include "doubles.h"

#include <math.h>
#include <stdio.h>

int main(void) {
  float images[64] = {0}, probabilities[10] = {0}, sum = 0;
  float x[3] = {1, 2, 3}, y[3] = {0};
  const int64_t image_dims[] = {1, 8, 8}, x_dims[] = {3};
  const int64_t *digits_dims[] = {image_dims}, *doubles_dims[] = {x_dims};
  const void *digits_inputs[] = {images}, *doubles_inputs[] = {x};
  void *digits_outputs[] = {probabilities}, *doubles_outputs[] = {y};
  if (digits_run(digits_inputs, digits_dims, digits_outputs, NULL)) {
    return fprintf(stderr, "digits: %s\n", digits_last_error()), 1;
  }
  if (doubles_run(doubles_inputs, doubles_dims, doubles_outputs, NULL)) {
    return fprintf(stderr, "doubles: %s\n", doubles_last_error()), 1;
  }
  for (int i = 0; i < 10; i++) sum += probabilities[i];
  printf("%s %s %.3f %g %g %g\n", digits_model_name(), doubles_model_name(), sum, y[0], y[1], y[2]);
  return fabsf(sum - 1) > 1e-5f || y[2] != 6;
}
