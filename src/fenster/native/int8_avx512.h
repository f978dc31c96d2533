// int8 products with AVX-512 and VNNI.

#pragma once

#include "int8_job.h"

#ifdef FENSTER_X86

namespace {

// The weights of large inputs as float32 [inputs, blocks * 16].
template <int N>
FENSTER_AVX512 const float* large_avx512(const Int8Job& job, long panel) {
  float* out = room_for_large(job);
  for (size_t n = 0; n < job.x.inputs.size(); ++n) {
    const int8_t* weights = large_weights(job, panel, static_cast<long>(n));
    const __m128i shift = _mm_cvtsi32_si128(24 - 8 * (job.x.inputs[n] % 4));
    for (int i = 0; i < N; ++i) {
      const __m512i left = _mm512_sll_epi32(_mm512_loadu_si512(weights + i * 64), shift);
      _mm512_storeu_ps(out + (n * N + i) * kBlock, _mm512_cvtepi32_ps(_mm512_srai_epi32(left, 24)));
    }
  }
  return out;
}

// R rows and the first N blocks of a panel. `large` [inputs, N * 16].
template <int R, int N>
FENSTER_AVX512 void tile_avx512(const Int8Job& job, long row, long panel, const float* large) {
  const QuantizedRows& x = job.x;
  const Matrix& matrix = job.matrix;
  __m512i sum[R][N];
  for (int r = 0; r < R; ++r)
    for (int n = 0; n < N; ++n) sum[r][n] = _mm512_setzero_si512();
  const int8_t* weights = matrix.int8_panel(panel);
  const uint8_t* a = &x.bytes[row * x.depth];
  for (long k = 0; k < x.depth; k += 4, weights += 4 * kWidth) {
    __m512i w[N];
    for (int n = 0; n < N; ++n) w[n] = _mm512_loadu_si512(weights + n * 64);
    if (R <= 4)  // for few rows reading is all the work
      for (int n = 0; n < N; ++n) _mm_prefetch(reinterpret_cast<const char*>(weights + kAhead + n * 64), _MM_HINT_T0);
    for (int r = 0; r < R; ++r) {
      int32_t four;
      std::memcpy(&four, a + r * x.depth + k, 4);
      const __m512i values = _mm512_set1_epi32(four);
      for (int n = 0; n < N; ++n) sum[r][n] = _mm512_dpbusd_epi32(sum[r][n], values, w[n]);
    }
  }
  alignas(64) int32_t sums[R][N][kBlock];  // read in loops, which may not be unrolled: `sum` stays in registers
  FENSTER_UNROLL
  for (int r = 0; r < R; ++r)
    FENSTER_UNROLL
    for (int n = 0; n < N; ++n) _mm512_store_si512(sums[r][n], sum[r][n]);
  for (int n = 0; n < N; ++n) {
    const long column = panel * kWidth + n * kBlock;
    const long count = std::min(kBlock, static_cast<long>(matrix.columns) - column);
    const __mmask16 mask = static_cast<__mmask16>((1u << count) - 1);
    const __m512i shift =
        _mm512_mullo_epi32(_mm512_maskz_loadu_epi32(mask, matrix.sums + column), _mm512_set1_epi32(x.zero));
    const __m512 scale = _mm512_maskz_loadu_ps(mask, matrix.scale + column);
    for (int r = 0; r < R; ++r) {
      __m512 value = _mm512_cvtepi32_ps(_mm512_sub_epi32(_mm512_load_si512(sums[r][n]), shift));
      value = _mm512_mul_ps(value, _mm512_set1_ps(x.factors[row + r]));
      for (int l = 0; l < x.large[row + r].count; ++l) {
        const Large& number = x.large[row + r].numbers[l];
        const __m512 of_input = _mm512_loadu_ps(large + (number.input * N + n) * kBlock);
        value = _mm512_add_ps(value, _mm512_mul_ps(_mm512_set1_ps(number.value), of_input));
      }
      value = _mm512_mul_ps(value, scale);
      if (matrix.bias) value = _mm512_add_ps(value, _mm512_maskz_loadu_ps(mask, matrix.bias + column));
      _mm512_mask_storeu_ps(job.y + (row + r) * matrix.columns + column, mask, value);
    }
  }
}

template <int N>
FENSTER_AVX512 void panel_avx512(const Int8Job& job, long panel) {
  constexpr int kRows = 6;  // more do not fit into registers
  const float* large = large_avx512<N>(job, panel);
  long row = 0;
  for (; row + kRows <= job.x.rows; row += kRows) tile_avx512<kRows, N>(job, row, panel, large);
  switch (job.x.rows - row) {
    case 5: return tile_avx512<5, N>(job, row, panel, large);
    case 4: return tile_avx512<4, N>(job, row, panel, large);
    case 3: return tile_avx512<3, N>(job, row, panel, large);
    case 2: return tile_avx512<2, N>(job, row, panel, large);
    case 1: return tile_avx512<1, N>(job, row, panel, large);
    default: return;
  }
}

FENSTER_AVX512 void int8_avx512(const Int8Job& job, long panel) {
  switch (job.matrix.blocks(panel)) {
    case 4: return panel_avx512<4>(job, panel);
    case 3: return panel_avx512<3>(job, panel);
    case 2: return panel_avx512<2>(job, panel);
    default: return panel_avx512<1>(job, panel);
  }
}

}  // namespace

#endif
