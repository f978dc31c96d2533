// int8 products with AVX2, and with AVX-VNNI.

#pragma once

#include "int8_job.h"

#ifdef FENSTER_X86

namespace {

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

}  // namespace

#endif
