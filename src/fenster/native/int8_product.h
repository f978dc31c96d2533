// A linear layer with int8 weights: y = x W' + b, with x quantised row by row (int8_rows.h).
//
// Processors without VNNI add products up in 16 bits, which two of 127 * 127 never overflow: there the sign of x is moved
// to the weights. Sums are exact integers; the products of a row's few large numbers are added in float32, in order: all
// instruction sets, and all numbers of threads, give the same bits.
//
// Weights are packed as [columns / 16][depth / 4][16 columns][4 depths], which one VNNI instruction consumes whole.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "common.h"
#include "int8_rows.h"

namespace {

constexpr long kBlock = 16;           // columns of a packed block
constexpr long kPanel = 4;            // blocks that are computed together
constexpr int kRows = 4;              // rows that are computed together: more do not fit into registers
constexpr long kChunk = 128;          // rows that all columns meet before the next ones do

long up(long value, long step) { return (value + step - 1) / step * step; }

struct Job {
  const uint8_t* a;      // [rows, depth], depth a multiple of 4
  const int8_t* packed;  // as above
  const int32_t* sums;   // [columns], of each column's weights
  const float* scale;    // [columns]
  const float* bias;     // [columns], or null
  const float* factor;   // [rows]
  const Large* large;    // of all rows
  const int32_t* first;  // [rows + 1] where those of each row begin
  const int32_t* inputs; // [n_inputs] that are large in any row
  float* y;              // [rows, columns]
  long rows, columns, depth, n_inputs;
  int32_t zero;          // what 0 is quantised to
};

// The weights of the n-th large input in a block: bytes `lane` of 16 words.
struct Words {
  const int8_t* begin;
  int lane;
  Words(const Job& job, long block, long n)
      : begin(job.packed + block * kBlock * job.depth + job.inputs[n] / 4 * 4 * kBlock), lane(job.inputs[n] % 4) {}
};

float* room_for_large(const Job& job, long blocks) {
  static thread_local std::vector<float> room;
  room.resize(static_cast<size_t>(job.n_inputs * blocks * kBlock));
  return room.data();
}

// `value` [16] of a block's columns, large numbers included.
inline void finish(const Job& job, long row, long block, const float* value) {
  const long column = block * kBlock, count = std::min(kBlock, job.columns - column);
  for (long i = 0; i < count; ++i) {
    const float scaled = value[i] * job.scale[column + i];
    job.y[row * job.columns + column + i] = job.bias ? scaled + job.bias[column + i] : scaled;
  }
}

// Blocks [first, last) of 16 columns each, for all rows.
void plain(const Job& job, long first, long last) {
  for (long block = first; block < last; ++block) {
    const int8_t* weights = job.packed + block * kBlock * job.depth;
    for (long row = 0; row < job.rows; ++row) {
      int32_t sum[kBlock] = {};
      const uint8_t* a = job.a + row * job.depth;
      for (long k = 0; k < job.depth; k += 4)
        for (long j = 0; j < kBlock; ++j)
          for (long i = 0; i < 4; ++i) sum[j] += (a[k + i] - job.zero) * weights[k * kBlock + j * 4 + i];
      float value[kBlock];
      for (long j = 0; j < kBlock; ++j) value[j] = static_cast<float>(sum[j]) * job.factor[row];
      for (int32_t l = job.first[row]; l < job.first[row + 1]; ++l) {
        const Words words(job, block, job.large[l].slot);
        for (long j = 0; j < kBlock; ++j)
          value[j] += job.large[l].value * static_cast<float>(words.begin[j * 4 + words.lane]);
      }
      finish(job, row, block, value);
    }
  }
}

#ifdef FENSTER_X86

#define FENSTER_512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

// The weights of large inputs in `blocks`, as float32 [n_inputs, blocks * 16].
FENSTER_512 const float* large512(const Job& job, long block, long blocks) {
  float* out = room_for_large(job, blocks);
  for (long n = 0; n < job.n_inputs; ++n)
    for (long i = 0; i < blocks; ++i) {
      const Words words(job, block + i, n);
      const __m512i left = _mm512_sll_epi32(_mm512_loadu_si512(words.begin), _mm_cvtsi32_si128(24 - 8 * words.lane));
      _mm512_storeu_ps(out + (n * blocks + i) * kBlock, _mm512_cvtepi32_ps(_mm512_srai_epi32(left, 24)));
    }
  return out;
}

template <int R, int N>
FENSTER_512 void tile512(const Job& job, long row, long block, const float* large) {
  __m512i sum[R][N];
  for (int r = 0; r < R; ++r)
    for (int n = 0; n < N; ++n) sum[r][n] = _mm512_setzero_si512();
  const int8_t* weights = job.packed + block * kBlock * job.depth;
  const long step = kBlock * job.depth;
  const uint8_t* a = job.a + row * job.depth;
  for (long k = 0; k < job.depth; k += 4) {
    __m512i w[N];
    for (int n = 0; n < N; ++n) {
      w[n] = _mm512_loadu_si512(weights + n * step + k * kBlock);
      // What the next panel reads: four streams that change pages together outrun the processor's own prefetching.
      _mm_prefetch(reinterpret_cast<const char*>(weights + (N + n) * step + k * kBlock), _MM_HINT_T0);
    }
    for (int r = 0; r < R; ++r) {
      int32_t four;
      std::memcpy(&four, a + r * job.depth + k, 4);
      const __m512i x = _mm512_set1_epi32(four);
      for (int n = 0; n < N; ++n) sum[r][n] = _mm512_dpbusd_epi32(sum[r][n], x, w[n]);
    }
  }
  for (int n = 0; n < N; ++n) {
    const long column = (block + n) * kBlock;
    const long count = std::min(kBlock, job.columns - column);
    const __mmask16 mask = static_cast<__mmask16>((1u << count) - 1);
    const __m512i shift =
        _mm512_mullo_epi32(_mm512_maskz_loadu_epi32(mask, job.sums + column), _mm512_set1_epi32(job.zero));
    const __m512 scale = _mm512_maskz_loadu_ps(mask, job.scale + column);
    for (int r = 0; r < R; ++r) {
      __m512 value = _mm512_cvtepi32_ps(_mm512_sub_epi32(sum[r][n], shift));
      value = _mm512_mul_ps(value, _mm512_set1_ps(job.factor[row + r]));
      for (int32_t l = job.first[row + r]; l < job.first[row + r + 1]; ++l) {
        const __m512 weights = _mm512_loadu_ps(large + (job.large[l].slot * N + n) * kBlock);
        value = _mm512_add_ps(value, _mm512_mul_ps(_mm512_set1_ps(job.large[l].value), weights));
      }
      value = _mm512_mul_ps(value, scale);
      if (job.bias) value = _mm512_add_ps(value, _mm512_maskz_loadu_ps(mask, job.bias + column));
      _mm512_mask_storeu_ps(job.y + (row + r) * job.columns + column, mask, value);
    }
  }
}

template <int N>
FENSTER_512 void rows512(const Job& job, long block) {
  const float* large = large512(job, block, N);
  long row = 0;
  for (; row + kRows <= job.rows; row += kRows) tile512<kRows, N>(job, row, block, large);
  switch (job.rows - row) {
    case 3: tile512<3, N>(job, row, block, large); break;
    case 2: tile512<2, N>(job, row, block, large); break;
    case 1: tile512<1, N>(job, row, block, large); break;
    default: break;
  }
}

FENSTER_512 void vnni512(const Job& job, long first, long last) {
  long block = first;
  for (; block + kPanel <= last; block += kPanel) rows512<kPanel>(job, block);
  for (; block < last; ++block) rows512<1>(job, block);
}


// Of one block.
FENSTER_256 const float* large256(const Job& job, long block) {
  float* out = room_for_large(job, 1);
  for (long n = 0; n < job.n_inputs; ++n) {
    const Words words(job, block, n);
    for (long i = 0; i < kBlock; i += 8) {
      const __m256i four = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words.begin + i * 4));
      const __m256i left = _mm256_sll_epi32(four, _mm_cvtsi32_si128(24 - 8 * words.lane));
      _mm256_storeu_ps(out + n * kBlock + i, _mm256_cvtepi32_ps(_mm256_srai_epi32(left, 24)));
    }
  }
  return out;
}

template <int R, bool Signed>
FENSTER_256 void tile256(const Job& job, long row, long block, const float* large) {
  __m256i sum[R][2];
  for (int r = 0; r < R; ++r) sum[r][0] = sum[r][1] = _mm256_setzero_si256();
  const int8_t* weights = job.packed + block * kBlock * job.depth;
  const uint8_t* a = job.a + row * job.depth;
  const __m256i ones = _mm256_set1_epi16(1);
  const __m256i half = _mm256_set1_epi8(static_cast<char>(128));
  for (long k = 0; k < job.depth; k += 4) {
    const __m256i left = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights + k * kBlock));
    const __m256i right = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights + k * kBlock + 32));
    _mm_prefetch(reinterpret_cast<const char*>(weights + (job.depth + k) * kBlock), _MM_HINT_T0);
    for (int r = 0; r < R; ++r) {
      int32_t four;
      std::memcpy(&four, a + r * job.depth + k, 4);
      const __m256i given = _mm256_set1_epi32(four);
      const __m256i x = Signed ? _mm256_xor_si256(given, half) : given;
      const __m256i size = Signed ? _mm256_abs_epi8(x) : x;
      const __m256i low = _mm256_maddubs_epi16(size, Signed ? _mm256_sign_epi8(left, x) : left);
      const __m256i high = _mm256_maddubs_epi16(size, Signed ? _mm256_sign_epi8(right, x) : right);
      sum[r][0] = _mm256_add_epi32(sum[r][0], _mm256_madd_epi16(low, ones));
      sum[r][1] = _mm256_add_epi32(sum[r][1], _mm256_madd_epi16(high, ones));
    }
  }
  for (int r = 0; r < R; ++r) {
    float values[kBlock];
    for (long i = 0; i < 2; ++i) {
      __m256 value = _mm256_mul_ps(_mm256_cvtepi32_ps(sum[r][i]), _mm256_set1_ps(job.factor[row + r]));
      for (int32_t l = job.first[row + r]; l < job.first[row + r + 1]; ++l) {
        const __m256 weights = _mm256_loadu_ps(large + job.large[l].slot * kBlock + 8 * i);
        value = _mm256_add_ps(value, _mm256_mul_ps(_mm256_set1_ps(job.large[l].value), weights));
      }
      _mm256_storeu_ps(values + 8 * i, value);
    }
    finish(job, row + r, block, values);
  }
}

template <bool Signed>
FENSTER_256 void blocks256(const Job& job, long first, long last) {
  for (long block = first; block < last; ++block) {
    const float* large = large256(job, block);
    long row = 0;
    for (; row + kRows <= job.rows; row += kRows) tile256<kRows, Signed>(job, row, block, large);
    switch (job.rows - row) {
      case 3: tile256<3, Signed>(job, row, block, large); break;
      case 2: tile256<2, Signed>(job, row, block, large); break;
      case 1: tile256<1, Signed>(job, row, block, large); break;
      default: break;
    }
  }
}

FENSTER_256 void avx2(const Job& job, long first, long last) {
  job.zero ? blocks256<true>(job, first, last) : blocks256<false>(job, first, last);
}

#endif

using Kernel = void (*)(const Job&, long, long);

// 0 chooses the fastest that this processor has; 1 to 3 are for tests. Null if it has none of that kind.
Kernel kernel(int kind) {
#ifdef FENSTER_X86
  const bool vnni = __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512vl");
  if (vnni && (kind == 0 || kind == 3)) return vnni512;
  if (__builtin_cpu_supports("avx2") && (kind == 0 || kind == 2)) return avx2;
#endif
  return kind < 2 ? plain : nullptr;
}

// A linear layer, packed.
struct Matrix {
  const int8_t* packed;
  const int32_t* sums;
  const float* scale;
  const float* bias;             // or null
  int64_t columns, depth;
  int64_t nonnegative;           // of its inputs, negative numbers count as zero
};

inline long blocks_of(const Matrix& matrix) { return up(matrix.columns, kBlock) / kBlock; }

// y [rows, columns] = x [rows, depth] times the matrix, plus the bias: what is to be computed. The quantised rows last
// until the thread's next product. False if x holds NaN or infinity.
inline bool prepare(const float* x, long rows, const Matrix& matrix, bool vectors, float* y, Job& job) {
  static thread_local QuantizedRows quantized;  // its memory is used again
  const long deep = up(matrix.depth, 4);
  if (!quantized.fill(x, rows, matrix.depth, deep, matrix.nonnegative != 0, vectors)) return false;
  job = Job{quantized.bytes.data(), matrix.packed, matrix.sums, matrix.scale, matrix.bias, quantized.factors.data(),
            quantized.large.data(), quantized.first.data(), quantized.inputs.data(), y, rows,
            static_cast<long>(matrix.columns), deep, static_cast<long>(quantized.inputs.size()),
            zero_of(matrix.nonnegative != 0)};
  return true;
}

// Blocks [first, last) of columns, for all rows.
inline void compute(Kernel run, const Job& job, long first, long last) {
  for (long row = 0; row < job.rows; row += kChunk) {  // the rows of a chunk stay in the cache
    Job chunk = job;
    chunk.rows = std::min(kChunk, job.rows - row);
    chunk.a += row * job.depth;
    chunk.factor += row;
    chunk.first += row;
    chunk.y += row * job.columns;
    run(chunk, first, last);
  }
}

}  // namespace
