// Many exponentials at a time.

#pragma once

#include "common.h"

#ifdef FENSTER_X86

namespace {

// exp(x) for x <= 0, within two units in the last place: 2^n times a polynomial (Cephes). NaN stays NaN.
constexpr float kLeastExponent = -87.0f, kLog2e = 1.44269504f, kLog2High = 0.693359375f, kLog2Low = -2.12194440e-4f;
constexpr float kExp[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                          4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};

FENSTER_AVX2 inline __m256 exp_of(__m256 x) {
  x = _mm256_max_ps(_mm256_set1_ps(kLeastExponent), x);  // in this order NaN stays NaN
  const __m256 n =
      _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(kLog2e)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(kLog2High), x);
  r = _mm256_fnmadd_ps(n, _mm256_set1_ps(kLog2Low), r);
  __m256 p = _mm256_set1_ps(kExp[0]);
  for (int i = 1; i < 6; ++i) p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(kExp[i]));
  p = _mm256_add_ps(_mm256_fmadd_ps(p, _mm256_mul_ps(r, r), r), _mm256_set1_ps(1.0f));
  const __m256i power = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
  return _mm256_mul_ps(p, _mm256_castsi256_ps(power));
}

FENSTER_AVX512 inline __m512 exp_of(__m512 x) {
  x = _mm512_max_ps(_mm512_set1_ps(kLeastExponent), x);
  const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(kLog2e)),
                                        _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(kLog2High), x);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(kLog2Low), r);
  __m512 p = _mm512_set1_ps(kExp[0]);
  for (int i = 1; i < 6; ++i) p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(kExp[i]));
  p = _mm512_add_ps(_mm512_fmadd_ps(p, _mm512_mul_ps(r, r), r), _mm512_set1_ps(1.0f));
  const __m512i power = _mm512_slli_epi32(_mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127)), 23);
  return _mm512_mul_ps(p, _mm512_castsi512_ps(power));
}

FENSTER_AVX2 inline float total_of(__m256 x) {
  const __m128 half = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  const __m128 pair = _mm_add_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_add_ss(pair, _mm_shuffle_ps(pair, pair, 1)));
}

// The sum of both halves, then as above.
FENSTER_AVX512 inline float total_of(__m512 x) {
  const __m256 high = _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(x), 1));
  return total_of(_mm256_add_ps(_mm512_castps512_ps256(x), high));
}

}  // namespace

#endif
