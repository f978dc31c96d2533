// Rows times a matrix of float32 weights. Products are added in the order of the inputs, with AVX2 and AVX-512 alike.

#pragma once

#include "matrix.h"

namespace {

struct FloatJob {
  const Matrix& matrix;
  const float* x;  // [rows, depth]
  long rows;
  float* y;        // [rows, columns]
};

inline void store_columns(const FloatJob& job, long row, long column, const float* sum) {
  const Matrix& matrix = job.matrix;
  const long count = std::min(kBlock, static_cast<long>(matrix.columns) - column);
  for (long i = 0; i < count; ++i)
    job.y[row * matrix.columns + column + i] = matrix.bias ? sum[i] + matrix.bias[column + i] : sum[i];
}

// R rows and a block; compilers make vectors of its columns.
template <int R>
void float_tile_plain(const FloatJob& job, long row, long panel, long block) {
  const long depth = job.matrix.depth;
  const float* weights = job.matrix.float_panel(panel) + block * kBlock;
  const float* x = job.x + row * depth;
  float sum[R][kBlock] = {};
  for (long k = 0; k < depth; ++k, weights += kWidth)
    for (int r = 0; r < R; ++r)
      for (long i = 0; i < kBlock; ++i) sum[r][i] += x[r * depth + k] * weights[i];
  for (int r = 0; r < R; ++r) store_columns(job, row + r, panel * kWidth + block * kBlock, sum[r]);
}

void float_plain(const FloatJob& job, long panel) {
  for (long block = 0; block < job.matrix.blocks(panel); ++block) {
    long row = 0;
    for (; row + 4 <= job.rows; row += 4) float_tile_plain<4>(job, row, panel, block);
    for (; row < job.rows; ++row) float_tile_plain<1>(job, row, panel, block);
  }
}

#ifdef FENSTER_X86

template <int R, int N>
FENSTER_AVX512 void float_tile_avx512(const FloatJob& job, long row, long panel) {
  __m512 sum[R][N];
  for (int r = 0; r < R; ++r)
    for (int n = 0; n < N; ++n) sum[r][n] = _mm512_setzero_ps();
  const long depth = job.matrix.depth;
  const float* weights = job.matrix.float_panel(panel);
  const float* x = job.x + row * depth;
  for (long k = 0; k < depth; ++k, weights += kWidth) {
    __m512 w[N];
    for (int n = 0; n < N; ++n) w[n] = _mm512_loadu_ps(weights + n * kBlock);
    if (R <= 4)
      for (int n = 0; n < N; ++n)
        _mm_prefetch(reinterpret_cast<const char*>(weights + n * kBlock) + kAhead, _MM_HINT_T0);
    for (int r = 0; r < R; ++r) {
      const __m512 value = _mm512_set1_ps(x[r * depth + k]);
      for (int n = 0; n < N; ++n) sum[r][n] = _mm512_fmadd_ps(value, w[n], sum[r][n]);
    }
  }
  alignas(64) float sums[R][N][kBlock];  // read in loops, which may not be unrolled: `sum` stays in registers
  FENSTER_UNROLL
  for (int r = 0; r < R; ++r)
    FENSTER_UNROLL
    for (int n = 0; n < N; ++n) _mm512_store_ps(sums[r][n], sum[r][n]);
  for (int r = 0; r < R; ++r)
    for (int n = 0; n < N; ++n) store_columns(job, row + r, panel * kWidth + n * kBlock, sums[r][n]);
}

template <int N>
FENSTER_AVX512 void float_panel_avx512(const FloatJob& job, long panel) {
  constexpr int kRows = 6;
  long row = 0;
  for (; row + kRows <= job.rows; row += kRows) float_tile_avx512<kRows, N>(job, row, panel);
  switch (job.rows - row) {
    case 5: return float_tile_avx512<5, N>(job, row, panel);
    case 4: return float_tile_avx512<4, N>(job, row, panel);
    case 3: return float_tile_avx512<3, N>(job, row, panel);
    case 2: return float_tile_avx512<2, N>(job, row, panel);
    case 1: return float_tile_avx512<1, N>(job, row, panel);
    default: return;
  }
}

FENSTER_AVX512 void float_avx512(const FloatJob& job, long panel) {
  switch (job.matrix.blocks(panel)) {
    case 4: return float_panel_avx512<4>(job, panel);
    case 3: return float_panel_avx512<3>(job, panel);
    case 2: return float_panel_avx512<2>(job, panel);
    default: return float_panel_avx512<1>(job, panel);
  }
}

template <int R>
FENSTER_AVX2 void float_tile_avx2(const FloatJob& job, long row, long panel, long block) {
  __m256 sum[R][2];
  for (int r = 0; r < R; ++r) sum[r][0] = sum[r][1] = _mm256_setzero_ps();
  const long depth = job.matrix.depth;
  const float* weights = job.matrix.float_panel(panel) + block * kBlock;
  const float* x = job.x + row * depth;
  for (long k = 0; k < depth; ++k, weights += kWidth) {
    const __m256 left = _mm256_loadu_ps(weights), right = _mm256_loadu_ps(weights + 8);
    for (int r = 0; r < R; ++r) {
      const __m256 value = _mm256_set1_ps(x[r * depth + k]);
      sum[r][0] = _mm256_fmadd_ps(value, left, sum[r][0]);
      sum[r][1] = _mm256_fmadd_ps(value, right, sum[r][1]);
    }
  }
  alignas(32) float sums[R][kBlock];  // as above
  FENSTER_UNROLL
  for (int r = 0; r < R; ++r) {
    _mm256_store_ps(sums[r], sum[r][0]);
    _mm256_store_ps(sums[r] + 8, sum[r][1]);
  }
  for (int r = 0; r < R; ++r) store_columns(job, row + r, panel * kWidth + block * kBlock, sums[r]);
}

FENSTER_AVX2 void float_avx2(const FloatJob& job, long panel) {
  constexpr int kRows = 6;
  for (long block = 0; block < job.matrix.blocks(panel); ++block) {
    long row = 0;
    for (; row + kRows <= job.rows; row += kRows) float_tile_avx2<kRows>(job, row, panel, block);
    switch (job.rows - row) {
      case 5: float_tile_avx2<5>(job, row, panel, block); break;
      case 4: float_tile_avx2<4>(job, row, panel, block); break;
      case 3: float_tile_avx2<3>(job, row, panel, block); break;
      case 2: float_tile_avx2<2>(job, row, panel, block); break;
      case 1: float_tile_avx2<1>(job, row, panel, block); break;
      default: break;
    }
  }
}

#endif

using FloatKernel = void (*)(const FloatJob&, long);

inline FloatKernel float_kernel() {
#ifdef FENSTER_X86
  if (instructions() == Instructions::avx512) return float_avx512;
  if (instructions() != Instructions::plain) return float_avx2;
#endif
  return float_plain;
}

}  // namespace
