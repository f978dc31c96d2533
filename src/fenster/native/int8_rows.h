// Rows of float32 as bytes, each by itself, so that a row's result does not depend on the others.
//
// A row's few large numbers stay float32: networks have inputs that are many times as large as all others (of the
// bundled model's encoder, one of 512 is some ten times as large), and the steps of all would be as coarse. The rest
// become numbers from -127 to 127 by the largest magnitude among them. They are kept without a sign, as VNNI wants them:
// with 128 added, or as they are if negative numbers count as zero. What comes out of a ReLU has no such inputs: there
// all numbers become bytes.

#pragma once

#include <cmath>
#include <vector>

#include "common.h"

namespace {

constexpr int kLarge = 4;              // numbers of a row that stay float32, at most
constexpr float kTimes = 2.0f;         // a large number is as many times as large as the largest of any span
constexpr float kSteps = 127.0f;
constexpr float kSmallest = 1e-30f;    // rows with nothing larger are zero
constexpr float kLargest = 3.4028235e38f;
constexpr long kSpan = 64;             // numbers of a span
constexpr double kQuantizeWork = 20000;  // numbers that are worth a thread of their own

struct Large {
  float value;
  int32_t input;  // until all rows are known; then which of the inputs that are large in any row
};

// The large numbers of one row.
struct LargeOfRow {
  Large numbers[kLarge];
  int count = 0;

  void add(float value, long input) { numbers[count++] = {value, static_cast<int32_t>(input)}; }
};

struct Steps {
  float rate, factor;
  explicit Steps(float largest)
      : rate(largest > kSmallest ? kSteps / largest : 0.0f), factor(largest / kSteps) {}
};

// One row as bytes, but for the `large` numbers (null for a row whose negative numbers count as zero, a ReLU for nothing).
// `sizes` [depth] is room for magnitudes. Returns what the bytes are to be multiplied with, NaN if the row is not finite.
using Quantize = float (*)(const float* x, long depth, LargeOfRow* large, float* sizes, uint8_t* out);

float quantize_plain(const float* x, long depth, LargeOfRow* large, float* sizes, uint8_t* out) {
  for (long k = 0; k < depth; ++k) {
    if (!(std::fabs(x[k]) <= kLargest)) return std::nanf("");
    sizes[k] = large ? std::fabs(x[k]) : std::max(x[k], 0.0f);
  }
  float usual = kLargest;  // the largest number of the span that has the smallest
  for (long k = 0; k < depth; k += kSpan)
    usual = std::min(usual, *std::max_element(sizes + k, sizes + std::min(depth, k + kSpan)));
  long at = std::max_element(sizes, sizes + depth) - sizes;
  for (int n = 0; large && n < kLarge && sizes[at] > kTimes * usual; ++n) {
    large->add(x[at], at);
    sizes[at] = 0;
    at = std::max_element(sizes, sizes + depth) - sizes;  // the first of equal ones
  }
  const Steps steps(sizes[at]);
  for (long k = 0; k < depth; ++k) {
    const float whole = std::nearbyint(std::min(std::max(x[k] * steps.rate, large ? -kSteps : 0.0f), kSteps));
    out[k] = static_cast<uint8_t>(static_cast<int32_t>(whole) + (large ? 128 : 0));
  }
  return steps.factor;
}

#ifdef FENSTER_X86

FENSTER_AVX2 inline float most(__m256 x) {
  const __m128 half = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  const __m128 pair = _mm_max_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_max_ss(pair, _mm_shuffle_ps(pair, pair, 1)));
}

FENSTER_AVX2 inline float most_of_span(const float* sizes) {
  __m256 top = _mm256_loadu_ps(sizes);
  for (long k = 8; k < kSpan; k += 8) top = _mm256_max_ps(top, _mm256_loadu_ps(sizes + k));
  return most(top);
}

FENSTER_AVX2 inline long input_in_span(const float* sizes, float size) {
  long at = 0;
  int equal = 0;
  for (; !equal; at += 8)
    equal = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(sizes + at), _mm256_set1_ps(size), _CMP_EQ_OQ));
  return at - 8 + __builtin_ctz(static_cast<unsigned>(equal));
}

FENSTER_AVX2 float quantize_avx2(const float* x, long depth, LargeOfRow* large, float* sizes, uint8_t* out) {
  constexpr long kMostSpans = 64;
  const long spans = depth / kSpan;
  if (depth % kSpan || spans > kMostSpans) return quantize_plain(x, depth, large, sizes, out);
  const __m256 sign = _mm256_set1_ps(-0.0f), top_size = _mm256_set1_ps(kLargest);
  __m256 finite = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
  float largest[kMostSpans];
  for (long span = 0; span < spans; ++span) {
    __m256 top = _mm256_setzero_ps();
    for (long k = span * kSpan; k < (span + 1) * kSpan; k += 8) {
      const __m256 value = _mm256_loadu_ps(x + k);
      const __m256 size = _mm256_andnot_ps(sign, value);
      finite = _mm256_and_ps(finite, _mm256_cmp_ps(size, top_size, _CMP_LE_OQ));
      if (large) _mm256_storeu_ps(sizes + k, size);
      top = _mm256_max_ps(top, large ? size : value);
    }
    largest[span] = most(top);
  }
  if (_mm256_movemask_ps(finite) != 255) return std::nanf("");
  const float usual = *std::min_element(largest, largest + spans);
  long span = std::max_element(largest, largest + spans) - largest;
  for (int n = 0; large && n < kLarge && largest[span] > kTimes * usual; ++n) {
    const long at = span * kSpan + input_in_span(sizes + span * kSpan, largest[span]);
    large->add(x[at], at);
    sizes[at] = 0;
    largest[span] = most_of_span(sizes + span * kSpan);
    span = std::max_element(largest, largest + spans) - largest;
  }
  const Steps steps(largest[span]);
  const __m256 rate = _mm256_set1_ps(steps.rate);
  const __m256i zero = _mm256_set1_epi32(large ? 128 : 0);
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const __m256i bottom = _mm256_set1_epi8(static_cast<char>(large ? 1 : 0));
  const __m256i top = _mm256_set1_epi8(static_cast<char>(large ? 255 : 127));
  for (long k = 0; k < depth; k += 32) {
    __m256i whole[4];
    for (int i = 0; i < 4; ++i)
      whole[i] = _mm256_add_epi32(_mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + k + 8 * i), rate)), zero);
    const __m256i bytes =
        _mm256_packus_epi16(_mm256_packs_epi32(whole[0], whole[1]), _mm256_packs_epi32(whole[2], whole[3]));
    const __m256i ordered = _mm256_permutevar8x32_epi32(bytes, order);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + k), _mm256_max_epu8(_mm256_min_epu8(ordered, top), bottom));
  }
  return steps.factor;
}

#endif

inline Quantize quantizer() {
#ifdef FENSTER_X86
  if (instructions() != Instructions::plain) return quantize_avx2;
#endif
  return quantize_plain;
}

struct QuantizedRows {
  long rows = 0, depth = 0;        // depth a multiple of 4
  int32_t zero = 0;                // what 0 is quantised to
  std::vector<uint8_t> bytes;      // [rows, depth]
  std::vector<float> factors;      // [rows]
  std::vector<LargeOfRow> large;   // [rows]
  std::vector<int32_t> inputs;     // that are large in any row
  std::vector<int32_t> slots;      // [depth] which of those each input is, or -1

  // `x` [count, size], with zeros up to a depth that is a multiple of 4.
  void fill(const float* x, long count, long size, bool nonnegative, int threads) {
    const Quantize quantize = quantizer();
    rows = count;
    depth = up(size, 4);
    zero = nonnegative ? 0 : 128;
    bytes.resize(static_cast<size_t>(rows * depth));
    factors.resize(static_cast<size_t>(rows));
    large.resize(static_cast<size_t>(rows));
    if (depth != size) std::fill(bytes.begin(), bytes.end(), static_cast<uint8_t>(zero));
    std::atomic<bool> finite{true};
    in_parts(rows, threads, static_cast<double>(rows * size), kQuantizeWork, [&](long begin, long end) {
      static thread_local std::vector<float> sizes;
      sizes.resize(static_cast<size_t>(size));
      for (long row = begin; row < end; ++row) {
        large[row].count = 0;
        LargeOfRow* apart = nonnegative ? nullptr : &large[row];
        factors[row] = quantize(x + row * size, size, apart, sizes.data(), &bytes[row * depth]);
        if (factors[row] != factors[row]) finite = false;
      }
    });
    if (!finite) throw NotFinite();
    number_large();
  }

 private:
  // Large numbers are zero among the bytes, and their inputs become slots.
  void number_large() {
    inputs.clear();
    slots.assign(static_cast<size_t>(depth), -1);
    for (long row = 0; row < rows; ++row)
      for (int n = 0; n < large[row].count; ++n) {
        int32_t& input = large[row].numbers[n].input;
        int32_t& slot = slots[input];
        bytes[row * depth + input] = static_cast<uint8_t>(zero);
        if (slot < 0) {
          inputs.push_back(input);
          slot = static_cast<int32_t>(inputs.size()) - 1;
        }
        input = slot;
      }
  }
};

}  // namespace
