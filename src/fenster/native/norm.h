// Layer norm of a sum, row by row: numbers are added in the same order whatever the processor.

#pragma once

#include <cmath>
#include <cstdint>

namespace {

constexpr long kLanes = 16;  // partial sums, so that compilers can use vectors

struct Norm {
  const float* weight;
  const float* bias;
  double epsilon;
};

inline float total(const float* lanes) {
  float sum = 0;
  for (long i = 0; i < kLanes; ++i) sum += lanes[i];
  return sum;
}

// out [size] = norm(x + y); `out` may be x or y.
inline void add_and_norm(const float* x, const float* y, long size, const Norm& norm, float* out) {
  float lanes[kLanes] = {};
  long k = 0;
  for (; k + kLanes <= size; k += kLanes)
    for (long i = 0; i < kLanes; ++i) lanes[i] += out[k + i] = x[k + i] + y[k + i];
  for (; k < size; ++k) lanes[0] += out[k] = x[k] + y[k];
  const float mean = total(lanes) / static_cast<float>(size);
  for (float& lane : lanes) lane = 0;
  for (k = 0; k + kLanes <= size; k += kLanes)
    for (long i = 0; i < kLanes; ++i) lanes[i] += (out[k + i] - mean) * (out[k + i] - mean);
  for (; k < size; ++k) lanes[0] += (out[k] - mean) * (out[k] - mean);
  const float rate = 1.0f / std::sqrt(total(lanes) / static_cast<float>(size) + static_cast<float>(norm.epsilon));
  for (k = 0; k < size; ++k) out[k] = (out[k] - mean) * rate * norm.weight[k] + norm.bias[k];
}

}  // namespace
