// Layer norm, row by row: numbers are added in the same order whatever the processor.

#pragma once

#include <cmath>

#include "common.h"

struct Norm {
  const float* weight;
  const float* bias;
  double epsilon;
};

namespace {

constexpr long kLanes = 16;  // partial sums, so that compilers can use vectors

inline float total(const float* lanes) {
  float sum = 0;
  for (long i = 0; i < kLanes; ++i) sum += lanes[i];
  return sum;
}

// out [size] = norm(x + y), `y` may be null; `out` may be x or y.
#if defined(__GNUC__) || defined(__clang__)
__attribute__((always_inline))
#endif
inline void
norm_of(const float* x, const float* y, long size, const Norm& norm, float* out) {
  float lanes[kLanes] = {};
  if (y)
    for (long k = 0; k < size; ++k) out[k] = x[k] + y[k];
  else if (out != x)
    std::copy(x, x + size, out);
  long k = 0;
  for (; k + kLanes <= size; k += kLanes)
    for (long i = 0; i < kLanes; ++i) lanes[i] += out[k + i];
  for (; k < size; ++k) lanes[0] += out[k];
  const float mean = total(lanes) / static_cast<float>(size);
  for (float& lane : lanes) lane = 0;
  for (k = 0; k + kLanes <= size; k += kLanes)
    for (long i = 0; i < kLanes; ++i) lanes[i] += (out[k + i] - mean) * (out[k + i] - mean);
  for (; k < size; ++k) lanes[0] += (out[k] - mean) * (out[k] - mean);
  const float rate = 1.0f / std::sqrt(total(lanes) / static_cast<float>(size) + static_cast<float>(norm.epsilon));
  for (k = 0; k < size; ++k) out[k] = (out[k] - mean) * rate * norm.weight[k] + norm.bias[k];
}

using NormRow = void (*)(const float* x, const float* y, long size, const Norm& norm, float* out);

void norm_plain(const float* x, const float* y, long size, const Norm& norm, float* out) {
  norm_of(x, y, size, norm, out);
}

#ifdef FENSTER_X86
FENSTER_AVX2 void norm_avx2(const float* x, const float* y, long size, const Norm& norm, float* out) {
  norm_of(x, y, size, norm, out);
}
#endif

inline NormRow norm_row() {
#ifdef FENSTER_X86
  if (instructions() != Instructions::plain) return norm_avx2;
#endif
  return norm_plain;
}

}  // namespace
