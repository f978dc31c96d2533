// One query and the keys that it sees.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "common.h"
#include "exp.h"

namespace {

// What one query sees: keys, values, and relative vectors (null without), of head 0.
struct Seen {
  std::vector<const float*> keys, values, relative;
  std::vector<float> weights;

  void clear() {
    keys.clear();
    values.clear();
    relative.clear();
  }
};

using Attend = void (*)(const float*, const Seen&, long, long, float*, float*);

// `q` and `out` [heads, size].
void attend_plain(const float* q, const Seen& seen, long heads, long size, float* weights, float* out) {
  const long count = static_cast<long>(seen.keys.size());
  const float scale = 1.0f / std::sqrt(static_cast<float>(size));
  for (long head = 0; head < heads; ++head) {
    const long at = head * size;
    float most = -std::numeric_limits<float>::infinity();
    for (long n = 0; n < count; ++n) {
      float sum = 0;
      for (long d = 0; d < size; ++d) {
        const float key = seen.keys[n][at + d] + (seen.relative.empty() ? 0.0f : seen.relative[n][at + d]);
        sum += q[at + d] * key;
      }
      weights[n] = sum * scale;
      most = std::max(most, weights[n]);
    }
    float total = 0;
    for (long n = 0; n < count; ++n) total += weights[n] = std::exp(weights[n] - most);
    std::fill(out + at, out + at + size, 0.0f);
    for (long n = 0; n < count; ++n)
      for (long d = 0; d < size; ++d) out[at + d] += weights[n] / total * seen.values[n][at + d];
  }
}

#ifdef FENSTER_X86

// `B` vectors of 8 numbers are a head.
template <int B, bool Relative>
FENSTER_FMA void attend_head(const float* q, const Seen& seen, long at, float scale, float* weights, float* out) {
  const long count = static_cast<long>(seen.keys.size());
  __m256 query[B];
  for (int b = 0; b < B; ++b) query[b] = _mm256_mul_ps(_mm256_loadu_ps(q + at + 8 * b), _mm256_set1_ps(scale));
  float most = -std::numeric_limits<float>::infinity();
  for (long n = 0; n < count; ++n) {
    const float* key = seen.keys[n] + at;
    const float* relative = Relative ? seen.relative[n] + at : nullptr;
    __m256 sum[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    for (int b = 0; b < B; ++b) {
      __m256 value = _mm256_loadu_ps(key + 8 * b);
      if (Relative) value = _mm256_add_ps(value, _mm256_loadu_ps(relative + 8 * b));
      sum[b % 2] = _mm256_fmadd_ps(query[b], value, sum[b % 2]);
    }
    weights[n] = total_of(_mm256_add_ps(sum[0], sum[1]));
    most = std::max(most, weights[n]);
  }
  float total = 0;
  const __m256 top = _mm256_set1_ps(most);
  for (long n = 0; n < count; n += 8) {  // `weights` has room for whole vectors
    _mm256_storeu_ps(weights + n, exp_of(_mm256_sub_ps(_mm256_loadu_ps(weights + n), top)));
    for (long i = n; i < std::min(n + 8, count); ++i) total += weights[i];
  }
  __m256 sum[B];
  for (int b = 0; b < B; ++b) sum[b] = _mm256_setzero_ps();
  for (long n = 0; n < count; ++n) {
    const __m256 weight = _mm256_set1_ps(weights[n]);
    for (int b = 0; b < B; ++b) sum[b] = _mm256_fmadd_ps(weight, _mm256_loadu_ps(seen.values[n] + at + 8 * b), sum[b]);
  }
  const __m256 share = _mm256_set1_ps(1.0f / total);
  for (int b = 0; b < B; ++b) _mm256_storeu_ps(out + at + 8 * b, _mm256_mul_ps(sum[b], share));
}

template <int B>
FENSTER_FMA void attend_fma(const float* q, const Seen& seen, long heads, long size, float* weights, float* out) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(size));
  for (long head = 0; head < heads; ++head) {
    if (seen.relative.empty())
      attend_head<B, false>(q, seen, head * size, scale, weights, out);
    else
      attend_head<B, true>(q, seen, head * size, scale, weights, out);
  }
}

#endif

Attend attend_for(long size, bool plain) {
#ifdef FENSTER_X86
  if (!plain && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    if (size == 64) return attend_fma<8>;
    if (size == 32) return attend_fma<4>;
    if (size == 16) return attend_fma<2>;
    if (size == 8) return attend_fma<1>;
  }
#endif
  return attend_plain;
}

// What queries see among the slots of a cache. Query n belongs to group n / (queries / groups), and sees those of the
// group's slots that its row of `allowed` [masks, slots] marks; queries are as many as masks, or a multiple. Slot s of
// group g is [2, heads, size] at kv + g * group_stride + s * slot_stride, or, with `rows` [groups, slots], at kv + row *
// slot_stride. `relative` [queries, slots] are rows of a table of relative vectors, if there is one.
struct Slots {
  const int64_t* rows;
  const uint8_t* allowed;
  const int64_t* relative;
  int64_t groups, slots, masks, group_stride, slot_stride;
};

// What query `n` of `queries` sees; `width` is heads * size.
inline void collect(const Slots& view, long n, long queries, long width, const float* kv, const float* table,
                    Seen& seen) {
  const int64_t group = n / (queries / view.groups);
  const uint8_t* mask = view.allowed + n / (queries / view.masks) * view.slots;
  for (int64_t slot = 0; slot < view.slots; ++slot) {
    if (!mask[slot]) continue;
    const float* place = view.rows ? kv + view.rows[group * view.slots + slot] * view.slot_stride
                                   : kv + group * view.group_stride + slot * view.slot_stride;
    seen.keys.push_back(place);
    seen.values.push_back(place + width);
    if (table) seen.relative.push_back(table + view.relative[n * view.slots + slot] * width);
  }
}

// `q` and `out` [heads, size]. A query that sees nothing is NaN.
inline void attend_to(Attend attend, Seen& seen, const float* q, long heads, long size, float* out) {
  seen.weights.resize(seen.keys.size() + 8);  // whole vectors
  if (seen.keys.empty())
    std::fill(out, out + heads * size, std::numeric_limits<float>::quiet_NaN());
  else
    attend(q, seen, heads, size, seen.weights.data(), out);
}

}  // namespace
