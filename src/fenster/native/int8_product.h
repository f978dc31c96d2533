// Rows times a matrix of int8 weights, with the rows quantised one by one (int8_rows.h).
//
// VNNI multiplies numbers without a sign by numbers with one, four at a time. Processors without it add products up in
// 16 bits, which two of 127 * 127 never overflow: there the sign of x is moved to the weights. Sums are exact integers; the products of a row's few large numbers are added in float32, in order: all
// instruction sets, and all numbers of threads, give the same bits.

#pragma once

#include <cstring>

#include "int8_rows.h"
#include "matrix.h"

namespace {

struct Int8Job {
  const Matrix& matrix;
  const QuantizedRows& x;
  float* y;  // [rows, columns]
};

// The weights of a panel's columns from block `first` on, for the n-th large input.
inline const int8_t* large_weights(const Int8Job& job, long panel, long n) {
  return job.matrix.int8_panel(panel) + job.x.inputs[n] / 4 * 4 * kWidth;
}

float* room_for_large(const Int8Job& job) {
  static thread_local std::vector<float> room;
  room.resize(job.x.inputs.size() * kWidth);
  return room.data();
}

// `value` [16] of a block's columns, large numbers included.
inline void finish(const Int8Job& job, long row, long column, const float* value) {
  const Matrix& matrix = job.matrix;
  const long count = std::min(kBlock, static_cast<long>(matrix.columns) - column);
  for (long i = 0; i < count; ++i) {
    const float scaled = value[i] * matrix.scale[column + i];
    job.y[row * matrix.columns + column + i] = matrix.bias ? scaled + matrix.bias[column + i] : scaled;
  }
}

void int8_plain(const Int8Job& job, long panel) {
  const QuantizedRows& x = job.x;
  for (long block = 0; block < job.matrix.blocks(panel); ++block) {
    const int8_t* weights = job.matrix.int8_panel(panel) + block * kBlock * 4;
    for (long row = 0; row < x.rows; ++row) {
      int32_t sum[kBlock] = {};
      const uint8_t* a = &x.bytes[row * x.depth];
      for (long k = 0; k < x.depth; k += 4)
        for (long j = 0; j < kBlock; ++j)
          for (long i = 0; i < 4; ++i) sum[j] += (a[k + i] - x.zero) * weights[k * kWidth + j * 4 + i];
      float value[kBlock];
      for (long j = 0; j < kBlock; ++j) value[j] = static_cast<float>(sum[j]) * x.factors[row];
      for (int l = 0; l < x.large[row].count; ++l) {
        const Large& large = x.large[row].numbers[l];
        const int8_t* words = large_weights(job, panel, large.input) + block * kBlock * 4 + x.inputs[large.input] % 4;
        for (long j = 0; j < kBlock; ++j) value[j] += large.value * static_cast<float>(words[j * 4]);
      }
      finish(job, row, panel * kWidth + block * kBlock, value);
    }
  }
}

#ifdef FENSTER_X86

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

// Of one block.
FENSTER_AVX2 const float* large_avx2(const Int8Job& job, long panel, long block) {
  float* out = room_for_large(job);
  for (size_t n = 0; n < job.x.inputs.size(); ++n) {
    const int8_t* weights = large_weights(job, panel, static_cast<long>(n)) + block * kBlock * 4;
    const __m128i shift = _mm_cvtsi32_si128(24 - 8 * (job.x.inputs[n] % 4));
    for (long i = 0; i < kBlock; i += 8) {
      const __m256i four = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights + i * 4));
      const __m256i left = _mm256_sll_epi32(four, shift);
      _mm256_storeu_ps(out + n * kBlock + i, _mm256_cvtepi32_ps(_mm256_srai_epi32(left, 24)));
    }
  }
  return out;
}

// `sums` [rows][16]: whole numbers of some rows, from `row` on, and a block's columns.
using Sums = void (*)(const QuantizedRows& x, long row, const int8_t* weights, int32_t (*sums)[kBlock]);

template <int R, bool Signed>
FENSTER_AVX2 void sums_avx2(const QuantizedRows& x, long row, const int8_t* weights, int32_t (*sums)[kBlock]) {
  __m256i sum[R][2];
  for (int r = 0; r < R; ++r) sum[r][0] = sum[r][1] = _mm256_setzero_si256();
  const uint8_t* a = &x.bytes[row * x.depth];
  const __m256i ones = _mm256_set1_epi16(1);
  const __m256i half = _mm256_set1_epi8(static_cast<char>(128));
  for (long k = 0; k < x.depth; k += 4, weights += 4 * kWidth) {
    const __m256i left = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights));
    const __m256i right = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights + 32));
    for (int r = 0; r < R; ++r) {
      int32_t four;
      std::memcpy(&four, a + r * x.depth + k, 4);
      const __m256i given = _mm256_set1_epi32(four);
      const __m256i values = Signed ? _mm256_xor_si256(given, half) : given;
      const __m256i size = Signed ? _mm256_abs_epi8(values) : values;
      const __m256i low = _mm256_maddubs_epi16(size, Signed ? _mm256_sign_epi8(left, values) : left);
      const __m256i high = _mm256_maddubs_epi16(size, Signed ? _mm256_sign_epi8(right, values) : right);
      sum[r][0] = _mm256_add_epi32(sum[r][0], _mm256_madd_epi16(low, ones));
      sum[r][1] = _mm256_add_epi32(sum[r][1], _mm256_madd_epi16(high, ones));
    }
  }
  FENSTER_UNROLL
  for (int r = 0; r < R; ++r) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums[r]), sum[r][0]);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums[r] + 8), sum[r][1]);
  }
}

#ifdef FENSTER_AVX_VNNI

// Without the shift by what 0 is quantised to.
template <int R>
FENSTER_AVX_VNNI void sums_avx_vnni(const QuantizedRows& x, long row, const int8_t* weights, int32_t (*sums)[kBlock]) {
  __m256i sum[R][2];
  for (int r = 0; r < R; ++r) sum[r][0] = sum[r][1] = _mm256_setzero_si256();
  const uint8_t* a = &x.bytes[row * x.depth];
  for (long k = 0; k < x.depth; k += 4, weights += 4 * kWidth) {
    const __m256i left = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights));
    const __m256i right = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights + 32));
    for (int r = 0; r < R; ++r) {
      int32_t four;
      std::memcpy(&four, a + r * x.depth + k, 4);
      const __m256i values = _mm256_set1_epi32(four);
      sum[r][0] = _mm256_dpbusd_avx_epi32(sum[r][0], values, left);
      sum[r][1] = _mm256_dpbusd_avx_epi32(sum[r][1], values, right);
    }
  }
  FENSTER_UNROLL
  for (int r = 0; r < R; ++r) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums[r]), sum[r][0]);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums[r] + 8), sum[r][1]);
  }
}

#endif

// y of `count` rows and a block, from their `sums`, which lack `shift` times those of the columns.
FENSTER_AVX2 void write_avx2(const Int8Job& job, long row, long count, long column, int32_t (*sums)[kBlock], int32_t shift,
                             const float* large) {
  const Matrix& matrix = job.matrix;
  const long columns = std::min(kBlock, static_cast<long>(matrix.columns) - column);
  for (long r = 0; r < count; ++r) {
    for (long i = 0; shift && i < columns; ++i) sums[r][i] -= shift * matrix.sums[column + i];
    float values[kBlock];
    for (long i = 0; i < kBlock; i += 8) {
      const __m256i exact = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums[r] + i));
      __m256 value = _mm256_mul_ps(_mm256_cvtepi32_ps(exact), _mm256_set1_ps(job.x.factors[row + r]));
      for (int l = 0; l < job.x.large[row + r].count; ++l) {
        const Large& number = job.x.large[row + r].numbers[l];
        const __m256 of_input = _mm256_loadu_ps(large + number.input * kBlock + i);
        value = _mm256_add_ps(value, _mm256_mul_ps(_mm256_set1_ps(number.value), of_input));
      }
      _mm256_storeu_ps(values + i, value);
    }
    finish(job, row + r, column, values);
  }
}

// `sums` [Most] for one row to `Most` rows at a time.
template <int Most>
FENSTER_AVX2 void panel_avx2(const Int8Job& job, long panel, const Sums (&sums)[Most], int32_t shift) {
  const char* all = reinterpret_cast<const char*>(job.matrix.int8_panel(panel));  // blocks are read in strides
  for (long at = 0; at < kWidth * job.x.depth; at += 64) _mm_prefetch(all + at, _MM_HINT_T0);
  for (long block = 0; block < job.matrix.blocks(panel); ++block) {
    const int8_t* weights = job.matrix.int8_panel(panel) + block * kBlock * 4;
    const float* large = large_avx2(job, panel, block);
    for (long row = 0; row < job.x.rows; row += Most) {
      const long count = std::min<long>(Most, job.x.rows - row);
      int32_t made[Most][kBlock];
      sums[count - 1](job.x, row, weights, made);
      write_avx2(job, row, count, panel * kWidth + block * kBlock, made, shift, large);
    }
  }
}

void int8_avx2(const Int8Job& job, long panel) {
  static constexpr Sums plus[] = {sums_avx2<1, false>, sums_avx2<2, false>, sums_avx2<3, false>, sums_avx2<4, false>};
  static constexpr Sums both[] = {sums_avx2<1, true>, sums_avx2<2, true>, sums_avx2<3, true>, sums_avx2<4, true>};
  panel_avx2(job, panel, job.x.zero ? both : plus, 0);
}

#ifdef FENSTER_AVX_VNNI

void int8_avx_vnni(const Int8Job& job, long panel) {
  static constexpr Sums all[] = {sums_avx_vnni<1>, sums_avx_vnni<2>, sums_avx_vnni<3>,
                                 sums_avx_vnni<4>, sums_avx_vnni<5>, sums_avx_vnni<6>};
  panel_avx2(job, panel, all, job.x.zero);
}

#endif

#endif

using Int8Kernel = void (*)(const Int8Job&, long);

inline Int8Kernel int8_kernel() {
#ifdef FENSTER_X86
  if (instructions() == Instructions::avx512) return int8_avx512;
#ifdef FENSTER_AVX_VNNI
  if (instructions() == Instructions::avx_vnni) return int8_avx_vnni;
#endif
  if (instructions() != Instructions::plain) return int8_avx2;
#endif
  return int8_plain;
}

}  // namespace
