// Attention of one query to the keys that it sees: in windows and caches these are few.
//
// float32. A query's result does not depend on the queries beside it, nor on whether it is AVX2 or AVX-512.

#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "common.h"
#include "exp.h"

namespace {

// What one query sees: keys, values, and relative vectors (none without), of head 0.
struct Seen {
  std::vector<const float*> keys, values, relative;
  std::vector<float> weights;  // [heads, stride], what the values are multiplied with
  long stride = 0;             // whole vectors of 16
  long first = 0;              // which token the first key is, for those who look at the weights

  void clear() {
    keys.clear();
    values.clear();
    relative.clear();
  }
  void add(const float* key, const float* value) {
    keys.push_back(key);
    values.push_back(value);
  }
  long count() const { return static_cast<long>(keys.size()); }
  void make_room(long heads) {
    stride = up(count(), 16);
    weights.resize(static_cast<size_t>(heads * stride));
  }
};

constexpr float kHidden = -std::numeric_limits<float>::infinity();

// `q` and `out` [heads, size].
using Attend = void (*)(const float* q, Seen& seen, long heads, long size, float* out);

void attend_plain(const float* q, Seen& seen, long heads, long size, float* out) {
  const long count = seen.count();
  const float scale = 1.0f / std::sqrt(static_cast<float>(size));
  for (long head = 0; head < heads; ++head) {
    const long at = head * size;
    float* weights = &seen.weights[head * seen.stride];
    float most = kHidden;
    for (long n = 0; n < count; ++n) {
      float lanes[8] = {};  // partial sums, so that compilers can use vectors
      const float* key = seen.keys[n] + at;
      const float* relative = seen.relative.empty() ? nullptr : seen.relative[n] + at;
      for (long d = 0; d < size; ++d) lanes[d % 8] += q[at + d] * (relative ? key[d] + relative[d] : key[d]);
      float sum = 0;
      for (const float lane : lanes) sum += lane;
      weights[n] = sum * scale;
      most = std::max(most, weights[n]);
    }
    float total = 0;
    for (long n = 0; n < count; ++n) total += weights[n] = std::exp(weights[n] - most);
    for (long n = 0; n < count; ++n) weights[n] /= total;
    std::fill(out + at, out + at + size, 0.0f);
    for (long n = 0; n < count; ++n)
      for (long d = 0; d < size; ++d) out[at + d] += weights[n] * seen.values[n][at + d];
  }
}

#ifdef FENSTER_X86

// A head is `B` vectors of 8 numbers. Sums of even and odd vectors are kept apart: they are the halves of one of 16.
template <int B, bool Relative>
FENSTER_AVX2 void attend_head_avx2(const float* q, const Seen& seen, long at, float scale, float* weights, float* out) {
  const long count = seen.count();
  __m256 query[B];
  for (int b = 0; b < B; ++b) query[b] = _mm256_mul_ps(_mm256_loadu_ps(q + at + 8 * b), _mm256_set1_ps(scale));
  float most = kHidden;
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
  std::fill(weights + count, weights + seen.stride, kHidden);
  __m256 sums[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
  for (long n = 0; n < seen.stride; n += 8) {
    const __m256 value = exp_of(_mm256_sub_ps(_mm256_loadu_ps(weights + n), _mm256_set1_ps(most)));
    _mm256_storeu_ps(weights + n, value);
    sums[n / 8 % 2] = _mm256_add_ps(sums[n / 8 % 2], value);
  }
  const __m256 share = _mm256_set1_ps(1.0f / total_of(_mm256_add_ps(sums[0], sums[1])));
  for (long n = 0; n < seen.stride; n += 8) _mm256_storeu_ps(weights + n, _mm256_mul_ps(_mm256_loadu_ps(weights + n), share));
  __m256 sum[B];
  for (int b = 0; b < B; ++b) sum[b] = _mm256_setzero_ps();
  for (long n = 0; n < count; ++n) {
    const __m256 weight = _mm256_set1_ps(weights[n]);
    for (int b = 0; b < B; ++b) sum[b] = _mm256_fmadd_ps(weight, _mm256_loadu_ps(seen.values[n] + at + 8 * b), sum[b]);
  }
  for (int b = 0; b < B; ++b) _mm256_storeu_ps(out + at + 8 * b, sum[b]);
}

template <int B>
FENSTER_AVX2 void attend_avx2(const float* q, Seen& seen, long heads, long size, float* out) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(size));
  for (long head = 0; head < heads; ++head) {
    float* weights = &seen.weights[head * seen.stride];
    if (seen.relative.empty())
      attend_head_avx2<B, false>(q, seen, head * size, scale, weights, out);
    else
      attend_head_avx2<B, true>(q, seen, head * size, scale, weights, out);
  }
}

// The same with vectors of 16 numbers.
template <int B, bool Relative>
FENSTER_AVX512 void attend_head_avx512(const float* q, const Seen& seen, long at, float scale, float* weights,
                                       float* out) {
  const long count = seen.count();
  __m512 query[B];
  for (int b = 0; b < B; ++b) query[b] = _mm512_mul_ps(_mm512_loadu_ps(q + at + 16 * b), _mm512_set1_ps(scale));
  float most = kHidden;
  for (long n = 0; n < count; ++n) {
    const float* key = seen.keys[n] + at;
    const float* relative = Relative ? seen.relative[n] + at : nullptr;
    __m512 sum = _mm512_setzero_ps();
    for (int b = 0; b < B; ++b) {
      __m512 value = _mm512_loadu_ps(key + 16 * b);
      if (Relative) value = _mm512_add_ps(value, _mm512_loadu_ps(relative + 16 * b));
      sum = _mm512_fmadd_ps(query[b], value, sum);
    }
    weights[n] = total_of(sum);
    most = std::max(most, weights[n]);
  }
  std::fill(weights + count, weights + seen.stride, kHidden);
  __m512 sums = _mm512_setzero_ps();
  for (long n = 0; n < seen.stride; n += 16) {
    const __m512 value = exp_of(_mm512_sub_ps(_mm512_loadu_ps(weights + n), _mm512_set1_ps(most)));
    _mm512_storeu_ps(weights + n, value);
    sums = _mm512_add_ps(sums, value);
  }
  const __m512 share = _mm512_set1_ps(1.0f / total_of(sums));
  for (long n = 0; n < seen.stride; n += 16)
    _mm512_storeu_ps(weights + n, _mm512_mul_ps(_mm512_loadu_ps(weights + n), share));
  __m512 sum[B];
  for (int b = 0; b < B; ++b) sum[b] = _mm512_setzero_ps();
  for (long n = 0; n < count; ++n) {
    const __m512 weight = _mm512_set1_ps(weights[n]);
    for (int b = 0; b < B; ++b)
      sum[b] = _mm512_fmadd_ps(weight, _mm512_loadu_ps(seen.values[n] + at + 16 * b), sum[b]);
  }
  for (int b = 0; b < B; ++b) _mm512_storeu_ps(out + at + 16 * b, sum[b]);
}

template <int B>
FENSTER_AVX512 void attend_avx512(const float* q, Seen& seen, long heads, long size, float* out) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(size));
  for (long head = 0; head < heads; ++head) {
    float* weights = &seen.weights[head * seen.stride];
    if (seen.relative.empty())
      attend_head_avx512<B, false>(q, seen, head * size, scale, weights, out);
    else
      attend_head_avx512<B, true>(q, seen, head * size, scale, weights, out);
  }
}

#endif

inline Attend attend_for(long size) {
#ifdef FENSTER_X86
  if (instructions() == Instructions::avx512) {
    if (size == 128) return attend_avx512<8>;
    if (size == 64) return attend_avx512<4>;
    if (size == 32) return attend_avx512<2>;
    if (size == 16) return attend_avx512<1>;
  }
  if (instructions() != Instructions::plain) {
    if (size == 128) return attend_avx2<16>;
    if (size == 64) return attend_avx2<8>;
    if (size == 32) return attend_avx2<4>;
    if (size == 16) return attend_avx2<2>;
    if (size == 8) return attend_avx2<1>;
  }
#endif
  return attend_plain;
}

// `q` and `out` [heads, size]. A query that sees nothing is NaN.
inline void attend_to(Attend attend, Seen& seen, const float* q, long heads, long size, float* out) {
  seen.make_room(heads);
  if (seen.keys.empty())
    std::fill(out, out + heads * size, std::numeric_limits<float>::quiet_NaN());
  else
    attend(q, seen, heads, size, out);
}

}  // namespace
