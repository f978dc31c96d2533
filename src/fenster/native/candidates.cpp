// The best next tokens of hypotheses, and what makes log-probabilities of logits. Plain C functions, called through
// ctypes.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "common.h"
#include "exp.h"

namespace {

constexpr double kThreadWork = 200000;  // logits that are worth a thread of their own
constexpr float kNever = -std::numeric_limits<float>::infinity();

// The best of the tokens offered so far, best first; of equal ones the first.
struct Best {
  float* values;
  int64_t* ids;
  long count;

  void offer(float value, int64_t id) {
    long at = count - 1;
    for (; at > 0 && values[at - 1] < value; --at) {
      values[at] = values[at - 1];
      ids[at] = ids[at - 1];
    }
    values[at] = value;
    ids[at] = id;
  }
};

void choose_plain(const float* logits, const uint8_t* banned, long first, long last, Best& best) {
  for (long id = first; id < last; ++id)
    if (logits[id] > best.values[best.count - 1] && !(banned && banned[id])) best.offer(logits[id], id);
}

// log(sum(exp(logits))), NaN if there is one.
float log_sum_plain(const float* logits, long size) {
  float most = kNever;
  for (long id = 0; id < size; ++id) most = logits[id] > most ? logits[id] : most;
  float sum = 0;
  for (long id = 0; id < size; ++id) sum += std::exp(logits[id] - most);
  return most + std::log(sum);
}

#ifdef FENSTER_X86

FENSTER_FMA void choose_avx2(const float* logits, const uint8_t* banned, long first, long last, Best& best) {
  long id = first;
  for (; id + 8 <= last; id += 8) {
    const __m256 least = _mm256_set1_ps(best.values[best.count - 1]);
    if (_mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(logits + id), least, _CMP_GT_OQ)))
      choose_plain(logits, banned, id, id + 8, best);
  }
  choose_plain(logits, banned, id, last, best);
}

FENSTER_FMA float log_sum_avx2(const float* logits, long size) {
  const long whole = size / 8 * 8;
  float most = kNever;
  __m256 top = _mm256_set1_ps(kNever);
  for (long id = 0; id < whole; id += 8) top = _mm256_max_ps(_mm256_loadu_ps(logits + id), top);
  float lanes[8];
  _mm256_storeu_ps(lanes, top);
  for (const float lane : lanes) most = std::max(most, lane);
  for (long id = whole; id < size; ++id) most = std::max(most, logits[id]);
  __m256 sum = _mm256_setzero_ps();
  for (long id = 0; id < whole; id += 8)
    sum = _mm256_add_ps(sum, exp_of(_mm256_sub_ps(_mm256_loadu_ps(logits + id), _mm256_set1_ps(most))));
  float total = total_of(sum);
  for (long id = whole; id < size; ++id) total += std::exp(logits[id] - most);
  return most + std::log(total);
}

#endif

}  // namespace

// Of each row of `logits` [rows, size]: the `count` best tokens from id `first` on, best first, that its row of `banned`
// [groups, size] (null: nothing) does not mark, with log-probabilities; and the logarithm of the sum that those are of.
// Where there are fewer tokens than `count`, the rest has log-probability -inf and id `first`.
FENSTER_EXPORT void fenster_best_tokens(const float* logits, int64_t rows, int64_t size, int64_t first,
                                        const uint8_t* banned, int64_t groups, int64_t count, float* values,
                                        int64_t* ids, float* log_sums, int threads, int plain) {
  auto choose = choose_plain;
  auto log_sum = log_sum_plain;
#ifdef FENSTER_X86
  if (!plain && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    choose = choose_avx2;
    log_sum = log_sum_avx2;
  }
#endif
  in_parts(rows, threads, static_cast<double>(rows * size), kThreadWork, [&](long begin, long end) {
    for (long row = begin; row < end; ++row) {
      Best best{values + row * count, ids + row * count, static_cast<long>(count)};
      std::fill(best.values, best.values + count, kNever);
      std::fill(best.ids, best.ids + count, first);
      const uint8_t* not_here = banned ? banned + row / (rows / groups) * size : nullptr;
      choose(logits + row * size, not_here, first, size, best);
      log_sums[row] = log_sum(logits + row * size, size);
      for (long n = 0; n < count; ++n) best.values[n] -= log_sums[row];
    }
  });
}
