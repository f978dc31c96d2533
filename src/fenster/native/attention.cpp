// Attention over few keys, as windows and caches have it: each query looks at its own keys and at no others.
//
// float32, for inference on a CPU. A query's result does not depend on the queries beside it.
// Plain C functions, called through ctypes.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "common.h"

namespace {

constexpr double kThreadWork = 2000000;  // multiplications that are worth a thread of their own

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

#define FENSTER_FMA __attribute__((target("avx2,fma")))

FENSTER_FMA inline float total_of(__m256 x) {
  const __m128 half = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  const __m128 pair = _mm_add_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_add_ss(pair, _mm_shuffle_ps(pair, pair, 1)));
}

// exp(x) for x <= 0, within two units in the last place: 2^n times a polynomial (Cephes).
FENSTER_FMA inline __m256 exp_of(__m256 x) {
  x = _mm256_max_ps(_mm256_set1_ps(-87.0f), x);  // in this order NaN stays NaN
  const __m256 n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504f)),
                                   _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375f), x);
  r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.12194440e-4f), r);
  __m256 p = _mm256_set1_ps(1.9875691500e-4f);
  for (const float c : {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f})
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(c));
  p = _mm256_add_ps(_mm256_fmadd_ps(p, _mm256_mul_ps(r, r), r), _mm256_set1_ps(1.0f));
  return _mm256_mul_ps(p, _mm256_castsi256_ps(_mm256_slli_epi32(
                              _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23)));
}

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

template <typename Collect>
void run(long queries, long most_keys, long heads, long size, int threads, bool plain, const float* q, long q_stride,
         float* out, const Collect& collect) {
  const Attend attend = attend_for(size, plain);
  const auto part = [&](long begin, long end) {
    Seen seen;
    std::vector<float> weights(static_cast<size_t>(most_keys + 8), 0.0f);
    for (long n = begin; n < end; ++n) {
      seen.clear();
      collect(n, seen);
      float* here = out + n * heads * size;
      if (seen.keys.empty())
        std::fill(here, here + heads * size, std::numeric_limits<float>::quiet_NaN());
      else
        attend(q + n * q_stride, seen, heads, size, weights.data(), here);
    }
  };
  const double work = 2.0 * static_cast<double>(queries) * static_cast<double>(most_keys * heads * size);
  in_parts(queries, threads, work, kThreadWork, part);
}

}  // namespace

// Query n of `q` [queries, heads, size] sees the rows first[n] … last[n] of `k` and `v` [rows, heads, size], and with
// a `table` [2 * window + 1, heads, size] the relative vector window + n - row. Strides are those of rows.
FENSTER_EXPORT void fenster_window_attention(const float* q, const float* k, const float* v, const float* table,
                                             const int64_t* first, const int64_t* last, int64_t queries, int64_t heads,
                                             int64_t size, int64_t q_stride, int64_t k_stride, int64_t v_stride,
                                             int64_t window, float* out, int threads, int plain) {
  run(queries, 2 * window + 1, heads, size, threads, plain != 0, q, q_stride, out, [&](long n, Seen& seen) {
    for (int64_t row = first[n]; row <= last[n]; ++row) {
      seen.keys.push_back(k + row * k_stride);
      seen.values.push_back(v + row * v_stride);
      if (table) seen.relative.push_back(table + (window + n - row) * heads * size);
    }
  });
}

// Query n of `q` [queries, heads, size] belongs to group n / (queries / groups), and sees those of the group's `slots`
// that its row of `allowed` [masks, slots] marks; queries are as many as masks, or a multiple. Slot s of group g is
// [2, heads, size] at kv + g * group_stride + s * slot_stride, or, with `rows` [groups, slots], at kv + row *
// slot_stride. `relative` [queries, slots] are rows of the `table`, if there is one.
FENSTER_EXPORT void fenster_decode_attention(const float* q, const float* kv, const int64_t* rows,
                                             const uint8_t* allowed, const float* table, const int64_t* relative,
                                             int64_t queries, int64_t groups, int64_t slots, int64_t masks,
                                             int64_t heads, int64_t size, int64_t q_stride, int64_t group_stride,
                                             int64_t slot_stride, float* out, int threads, int plain) {
  const int64_t per_group = queries / groups, per_mask = queries / masks;
  run(queries, slots, heads, size, threads, plain != 0, q, q_stride, out, [&](long n, Seen& seen) {
    const int64_t group = n / per_group;
    const uint8_t* mask = allowed + n / per_mask * slots;
    for (int64_t slot = 0; slot < slots; ++slot) {
      if (!mask[slot]) continue;
      const float* place =
          rows ? kv + rows[group * slots + slot] * slot_stride : kv + group * group_stride + slot * slot_stride;
      seen.keys.push_back(place);
      seen.values.push_back(place + heads * size);
      if (table) seen.relative.push_back(table + relative[n * slots + slot] * heads * size);
    }
  });
}
