// The best next words of a hypothesis, and what makes log-probabilities of logits.

#pragma once

#include <cmath>
#include <limits>

#include "common.h"
#include "exp.h"

namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

// The best of the tokens offered so far, best first; of equal ones the first.
struct Best {
  float* values;
  int32_t* ids;
  long count;

  void clear() {
    std::fill(values, values + count, kNever);
    std::fill(ids, ids + count, 0);
  }
  void offer(float value, int32_t id) {
    long at = count - 1;
    for (; at > 0 && values[at - 1] < value; --at) {
      values[at] = values[at - 1];
      ids[at] = ids[at - 1];
    }
    values[at] = value;
    ids[at] = id;
  }
  void offer_all(const float* logits, const uint8_t* banned, long first, long last) {
    for (long id = first; id < last; ++id)
      if (logits[id] > values[count - 1] && !(banned && banned[id])) offer(logits[id], static_cast<int32_t>(id));
  }
};

// log(sum(exp(logits))), NaN if there is one.
inline float log_sum_plain(const float* logits, long size) {
  float most = kNever;
  for (long id = 0; id < size; ++id) most = logits[id] > most ? logits[id] : most;
  float sum = 0;
  for (long id = 0; id < size; ++id) sum += std::exp(logits[id] - most);
  return most + std::log(sum);
}

#ifdef FENSTER_X86

FENSTER_AVX2 void offer_avx2(const float* logits, const uint8_t* banned, long first, long last, Best& best) {
  long id = first;
  for (; id + 8 <= last; id += 8) {
    const __m256 least = _mm256_set1_ps(best.values[best.count - 1]);
    if (_mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(logits + id), least, _CMP_GT_OQ)))
      best.offer_all(logits, banned, id, id + 8);
  }
  best.offer_all(logits, banned, id, last);
}

// Sums of even and odd vectors are kept apart: they are the halves of one of 16.
FENSTER_AVX2 float log_sum_avx2(const float* logits, long size) {
  const long whole = size / 16 * 16;
  __m256 top = _mm256_set1_ps(kNever);
  for (long id = 0; id < whole; id += 8) top = _mm256_max_ps(_mm256_loadu_ps(logits + id), top);
  float lanes[8], most = kNever;
  _mm256_storeu_ps(lanes, top);
  for (const float lane : lanes) most = std::max(most, lane);
  for (long id = whole; id < size; ++id) most = std::max(most, logits[id]);
  __m256 sums[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
  for (long id = 0; id < whole; id += 8)
    sums[id / 8 % 2] = _mm256_add_ps(
        sums[id / 8 % 2], exp_of(_mm256_sub_ps(_mm256_loadu_ps(logits + id), _mm256_set1_ps(most))));
  float total = total_of(_mm256_add_ps(sums[0], sums[1]));
  for (long id = whole; id < size; ++id) total += std::exp(logits[id] - most);
  return most + std::log(total);
}

FENSTER_AVX512 float log_sum_avx512(const float* logits, long size) {
  const long whole = size / 16 * 16;
  __m512 top = _mm512_set1_ps(kNever);
  for (long id = 0; id < whole; id += 16) top = _mm512_max_ps(_mm512_loadu_ps(logits + id), top);
  float lanes[16], most = kNever;
  _mm512_storeu_ps(lanes, top);
  for (const float lane : lanes) most = std::max(most, lane);
  for (long id = whole; id < size; ++id) most = std::max(most, logits[id]);
  __m512 sums = _mm512_setzero_ps();
  for (long id = 0; id < whole; id += 16)
    sums = _mm512_add_ps(sums, exp_of(_mm512_sub_ps(_mm512_loadu_ps(logits + id), _mm512_set1_ps(most))));
  float total = total_of(sums);
  for (long id = whole; id < size; ++id) total += std::exp(logits[id] - most);
  return most + std::log(total);
}

#endif

inline float log_sum(const float* logits, long size) {
#ifdef FENSTER_X86
  if (instructions() == Instructions::avx512) return log_sum_avx512(logits, size);
  if (instructions() != Instructions::plain) return log_sum_avx2(logits, size);
#endif
  return log_sum_plain(logits, size);
}

// The best of the words [first, size) that `banned` (or null) does not mark.
inline void best_words(const float* logits, const uint8_t* banned, long first, long size, Best& best) {
  best.clear();
#ifdef FENSTER_X86
  if (instructions() != Instructions::plain) return offer_avx2(logits, banned, first, size, best);
#endif
  best.offer_all(logits, banned, first, size);
}

}  // namespace
