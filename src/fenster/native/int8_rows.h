// Rows of float32 as bytes, each by itself, so that a row's result does not depend on the others.
//
// A row's few large numbers stay float32: networks have inputs that are many times as large as all others (of the
// bundled model's encoder, one of 512 is some ten times as large), and the steps of all would be as coarse. The rest
// become numbers from -127 to 127 by the largest magnitude among them. They are kept without a sign, as VNNI wants them:
// with 128 added, or as they are if negative numbers count as zero. What comes out of a ReLU has no such inputs: there
// all numbers become bytes.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "common.h"

namespace {

constexpr int kLarge = 4;              // numbers of a row that stay float32, at most
constexpr float kTimes = 2.0f;         // a large number is as many times as large as the largest of any span
constexpr float kSteps = 127.0f;
constexpr float kSmallest = 1e-30f;    // rows with nothing larger are zero
constexpr float kLargest = 3.4028235e38f;
constexpr long kSpan = 64;             // numbers of a span

struct Large {
  float value;
  int32_t slot;  // which of the inputs that are large in any row; until all rows are known, which input
};

int32_t zero_of(bool nonnegative) { return nonnegative ? 0 : 128; }

struct Steps {
  float rate, factor;
  int32_t zero;
  Steps(float largest, bool nonnegative)
      : rate(largest > kSmallest ? kSteps / largest : 0.0f), factor(largest / kSteps), zero(zero_of(nonnegative)) {}
};

// One row as bytes, but for the `large` ones, at most kLarge, which are added (null for a row that is `nonnegative`:
// there negative numbers count as zero, a ReLU for nothing). `sizes` [depth] is room for magnitudes. Returns what the
// bytes are to be multiplied with, NaN if the row is not finite.
using Quantize = float (*)(const float* x, long depth, std::vector<Large>* large, float* sizes, uint8_t* out);

float quantize_plain(const float* x, long depth, std::vector<Large>* large, float* sizes, uint8_t* out) {
  for (long k = 0; k < depth; ++k) {
    if (!(std::fabs(x[k]) <= kLargest)) return std::nanf("");
    sizes[k] = large ? std::fabs(x[k]) : std::max(x[k], 0.0f);
  }
  float usual = kLargest;  // the largest number of the span that has the smallest
  for (long k = 0; k < depth; k += kSpan)
    usual = std::min(usual, *std::max_element(sizes + k, sizes + std::min(depth, k + kSpan)));
  long at = std::max_element(sizes, sizes + depth) - sizes;
  for (int n = 0; large && n < kLarge && sizes[at] > kTimes * usual; ++n) {
    large->push_back({x[at], static_cast<int32_t>(at)});
    sizes[at] = 0;
    at = std::max_element(sizes, sizes + depth) - sizes;  // the first of equal ones
  }
  const Steps steps(sizes[at], !large);
  for (long k = 0; k < depth; ++k) {
    const float whole = std::nearbyint(std::min(std::max(x[k] * steps.rate, large ? -kSteps : 0.0f), kSteps));
    out[k] = static_cast<uint8_t>(static_cast<int32_t>(whole) + steps.zero);
  }
  return steps.factor;
}

#ifdef FENSTER_X86

#define FENSTER_256 __attribute__((target("avx2")))

FENSTER_256 inline float most(__m256 x) {
  const __m128 half = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  const __m128 pair = _mm_max_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_max_ss(pair, _mm_shuffle_ps(pair, pair, 1)));
}

FENSTER_256 inline float most_of_span(const float* sizes) {
  __m256 found = _mm256_loadu_ps(sizes);
  for (long k = 8; k < kSpan; k += 8) found = _mm256_max_ps(found, _mm256_loadu_ps(sizes + k));
  return most(found);
}

FENSTER_256 inline long place_in_span(const float* sizes, float size) {
  long at = 0;
  int equal = 0;
  for (; !equal; at += 8)
    equal = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(sizes + at), _mm256_set1_ps(size), _CMP_EQ_OQ));
  return at - 8 + __builtin_ctz(static_cast<unsigned>(equal));
}

FENSTER_256 float quantize_avx2(const float* x, long depth, std::vector<Large>* large, float* sizes, uint8_t* out) {
  constexpr long kMostSpans = 64;
  const long spans = depth / kSpan;
  if (depth % kSpan || spans > kMostSpans) return quantize_plain(x, depth, large, sizes, out);
  const __m256 sign = _mm256_set1_ps(-0.0f), top_size = _mm256_set1_ps(kLargest);
  __m256 finite = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
  float largest[kMostSpans];
  for (long span = 0; span < spans; ++span) {
    __m256 found = _mm256_setzero_ps();
    for (long k = span * kSpan; k < (span + 1) * kSpan; k += 8) {
      const __m256 value = _mm256_loadu_ps(x + k);
      const __m256 size = _mm256_andnot_ps(sign, value);
      finite = _mm256_and_ps(finite, _mm256_cmp_ps(size, top_size, _CMP_LE_OQ));
      if (large) _mm256_storeu_ps(sizes + k, size);
      found = _mm256_max_ps(found, large ? size : value);
    }
    largest[span] = most(found);
  }
  if (_mm256_movemask_ps(finite) != 255) return std::nanf("");
  const float usual = *std::min_element(largest, largest + spans);
  long span = std::max_element(largest, largest + spans) - largest;
  for (int n = 0; large && n < kLarge && largest[span] > kTimes * usual; ++n) {
    const long at = span * kSpan + place_in_span(sizes + span * kSpan, largest[span]);
    large->push_back({x[at], static_cast<int32_t>(at)});
    sizes[at] = 0;
    largest[span] = most_of_span(sizes + span * kSpan);
    span = std::max_element(largest, largest + spans) - largest;
  }
  const Steps steps(largest[span], !large);
  const __m256 rate = _mm256_set1_ps(steps.rate);
  const __m256i zero = _mm256_set1_epi32(steps.zero);
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const __m256i bottom = _mm256_set1_epi8(static_cast<char>(large ? 1 : 0));
  const __m256i top = _mm256_set1_epi8(static_cast<char>(steps.zero + 127));
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

Quantize quantizer(bool vectors) {
#ifdef FENSTER_X86
  if (vectors && __builtin_cpu_supports("avx2")) return quantize_avx2;
#endif
  return quantize_plain;
}

struct QuantizedRows {
  std::vector<uint8_t> bytes;   // [rows, deep]
  std::vector<float> factors;   // [rows]
  std::vector<Large> large;     // of all rows
  std::vector<int32_t> first;   // [rows + 1] where each row's large numbers begin
  std::vector<int32_t> inputs;  // that are large in any row
  std::vector<int32_t> slots;   // [depth] which of those each input is, or -1
  std::vector<float> sizes;     // [depth]

  // `x` [rows, depth], with zeros up to a depth of `deep`; false if there are NaN or infinity.
  bool fill(const float* x, long rows, long depth, long deep, bool nonnegative, bool vectors) {
    const Quantize quantize = quantizer(vectors);
    const uint8_t zero = static_cast<uint8_t>(zero_of(nonnegative));
    bytes.resize(static_cast<size_t>(rows * deep));
    if (deep != depth) std::fill(bytes.begin(), bytes.end(), zero);
    factors.resize(static_cast<size_t>(rows));
    sizes.resize(static_cast<size_t>(depth));
    large.clear();
    first.assign(1, 0);
    inputs.clear();
    slots.assign(static_cast<size_t>(depth), -1);
    bool finite = true;
    for (long row = 0; row < rows; ++row) {
      uint8_t* out = &bytes[row * deep];
      factors[row] = quantize(x + row * depth, depth, nonnegative ? nullptr : &large, sizes.data(), out);
      finite &= factors[row] == factors[row];
      for (size_t n = first.back(); n < large.size(); ++n) {
        int32_t& slot = slots[large[n].slot];
        out[large[n].slot] = zero;
        if (slot < 0) {
          inputs.push_back(large[n].slot);
          slot = static_cast<int32_t>(inputs.size()) - 1;
        }
        large[n].slot = slot;
      }
      first.push_back(static_cast<int32_t>(large.size()));
    }
    return finite;
  }
};

}  // namespace
