// A linear layer with int8 weights: y = x W' + b, with x quantised row by row.
//
// Every row of x becomes numbers from -127 to 127 by its own largest magnitude, so that a row's result does not depend
// on the others. They are kept without a sign, as VNNI wants them: with 128 added, or as they are if none is negative.
// Processors without VNNI add products up in 16 bits, which two of 127 * 127 never overflow: there the sign is moved to
// the weights. Sums are exact integers: all instruction sets, and all numbers of threads, give the same bits.
//
// Weights are packed as [columns / 16][depth / 4][16 columns][4 depths], which one VNNI instruction consumes whole.
// Plain C functions, called through ctypes: no Python, no torch, nothing to break when those change.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "common.h"

namespace {

constexpr long kBlock = 16;           // columns of a packed block
constexpr long kPanel = 4;            // blocks that are computed together
constexpr int kRows = 4;              // rows that are computed together: more do not fit into registers
constexpr long kChunk = 128;          // rows that all columns meet before the next ones do
constexpr float kLargest = 3.4028235e38f;
constexpr double kThreadWork = 3000000; // products that are worth a thread of their own

long up(long value, long step) { return (value + step - 1) / step * step; }

struct Job {
  const uint8_t* a;      // [rows, depth], depth a multiple of 4
  const int8_t* packed;  // as above
  const int32_t* sums;   // [columns], of each column's weights
  const float* scale;    // [columns]
  const float* bias;     // [columns], or null
  const float* factor;   // [rows]
  float* y;              // [rows, columns]
  long rows, columns, depth;
  int32_t zero;          // what 0 is quantised to
};

// `sum` of signed products.
inline void finish(const Job& job, long row, long column, long count, const int32_t* sum) {
  for (long i = 0; i < count; ++i) {
    const long at = column + i;
    const float value = static_cast<float>(sum[i]) * job.factor[row] * job.scale[at];
    job.y[row * job.columns + at] = job.bias ? value + job.bias[at] : value;
  }
}

// Blocks [first, last) of 16 columns each, for all rows.
void plain(const Job& job, long first, long last) {
  for (long block = first; block < last; ++block) {
    const int8_t* weights = job.packed + block * kBlock * job.depth;
    const long count = std::min(kBlock, job.columns - block * kBlock);
    for (long row = 0; row < job.rows; ++row) {
      int32_t sum[kBlock] = {};
      const uint8_t* a = job.a + row * job.depth;
      for (long k = 0; k < job.depth; k += 4)
        for (long j = 0; j < kBlock; ++j)
          for (long i = 0; i < 4; ++i) sum[j] += (a[k + i] - job.zero) * weights[k * kBlock + j * 4 + i];
      finish(job, row, block * kBlock, count, sum);
    }
  }
}

#ifdef FENSTER_X86

#define FENSTER_512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

template <int R, int N>
FENSTER_512 void tile512(const Job& job, long row, long block) {
  __m512i sum[R][N];
  for (int r = 0; r < R; ++r)
    for (int n = 0; n < N; ++n) sum[r][n] = _mm512_setzero_si512();
  const int8_t* weights = job.packed + block * kBlock * job.depth;
  const long step = kBlock * job.depth;
  const uint8_t* a = job.a + row * job.depth;
  for (long k = 0; k < job.depth; k += 4) {
    __m512i w[N];
    for (int n = 0; n < N; ++n) w[n] = _mm512_loadu_si512(weights + n * step + k * kBlock);
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
      value = _mm512_mul_ps(_mm512_mul_ps(value, _mm512_set1_ps(job.factor[row + r])), scale);
      if (job.bias) value = _mm512_add_ps(value, _mm512_maskz_loadu_ps(mask, job.bias + column));
      _mm512_mask_storeu_ps(job.y + (row + r) * job.columns + column, mask, value);
    }
  }
}

template <int N>
FENSTER_512 void rows512(const Job& job, long block) {
  long row = 0;
  for (; row + kRows <= job.rows; row += kRows) tile512<kRows, N>(job, row, block);
  switch (job.rows - row) {
    case 3: tile512<3, N>(job, row, block); break;
    case 2: tile512<2, N>(job, row, block); break;
    case 1: tile512<1, N>(job, row, block); break;
    default: break;
  }
}

FENSTER_512 void vnni512(const Job& job, long first, long last) {
  long block = first;
  for (; block + kPanel <= last; block += kPanel) rows512<kPanel>(job, block);
  for (; block < last; ++block) rows512<1>(job, block);
}

#define FENSTER_256 __attribute__((target("avx2")))

template <int R, bool Signed>
FENSTER_256 void tile256(const Job& job, long row, long block) {
  __m256i sum[R][2];
  for (int r = 0; r < R; ++r) sum[r][0] = sum[r][1] = _mm256_setzero_si256();
  const int8_t* weights = job.packed + block * kBlock * job.depth;
  const uint8_t* a = job.a + row * job.depth;
  const __m256i ones = _mm256_set1_epi16(1);
  const __m256i half = _mm256_set1_epi8(static_cast<char>(128));
  for (long k = 0; k < job.depth; k += 4) {
    const __m256i left = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights + k * kBlock));
    const __m256i right = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights + k * kBlock + 32));
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
  const long column = block * kBlock;
  for (int r = 0; r < R; ++r) {
    int32_t sums[kBlock];
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums), sum[r][0]);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + 8), sum[r][1]);
    finish(job, row + r, column, std::min(kBlock, job.columns - column), sums);
  }
}

template <bool Signed>
FENSTER_256 void blocks256(const Job& job, long first, long last) {
  for (long block = first; block < last; ++block) {
    long row = 0;
    for (; row + kRows <= job.rows; row += kRows) tile256<kRows, Signed>(job, row, block);
    switch (job.rows - row) {
      case 3: tile256<3, Signed>(job, row, block); break;
      case 2: tile256<2, Signed>(job, row, block); break;
      case 1: tile256<1, Signed>(job, row, block); break;
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

// One row as bytes; returns what they are to be multiplied with, NaN if the row is not finite. Of a row that is
// `nonnegative`, negative numbers count as zero: a ReLU for nothing.
using Quantize = float (*)(const float*, long, bool, uint8_t*);

constexpr float kSteps = 127.0f;
constexpr float kSmallest = 1e-30f;  // rows with nothing larger are zero

int32_t zero_of(bool nonnegative) { return nonnegative ? 0 : 128; }

struct Steps {
  float rate, factor;
  int32_t zero;
  Steps(float largest, bool nonnegative)
      : rate(largest > kSmallest ? kSteps / largest : 0.0f), factor(largest / kSteps), zero(zero_of(nonnegative)) {}
};

inline uint8_t step_of(float x, const Steps& steps) {
  const float whole = std::nearbyint(std::min(std::max(x * steps.rate, steps.zero ? -kSteps : 0.0f), kSteps));
  return static_cast<uint8_t>(static_cast<int32_t>(whole) + steps.zero);
}

float quantize_plain(const float* x, long depth, bool nonnegative, uint8_t* out) {
  float largest = 0;
  for (long k = 0; k < depth; ++k) {
    const float size = std::fabs(x[k]);
    if (!(size <= kLargest)) return std::nanf("");
    largest = std::max(largest, nonnegative ? x[k] : size);
  }
  const Steps steps(largest, nonnegative);
  for (long k = 0; k < depth; ++k) out[k] = step_of(x[k], steps);
  return steps.factor;
}

#ifdef FENSTER_X86

FENSTER_256 float quantize_avx2(const float* x, long depth, bool nonnegative, uint8_t* out) {
  if (depth % 32) return quantize_plain(x, depth, nonnegative, out);
  const __m256 sign = _mm256_set1_ps(-0.0f);
  const __m256 most = _mm256_set1_ps(kLargest);
  __m256 size[4], finite = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
  for (__m256& one : size) one = _mm256_setzero_ps();
  for (long k = 0; k < depth; k += 32)
    for (int i = 0; i < 4; ++i) {
      const __m256 value = _mm256_loadu_ps(x + k + 8 * i);
      const __m256 absolute = _mm256_andnot_ps(sign, value);
      finite = _mm256_and_ps(finite, _mm256_cmp_ps(absolute, most, _CMP_LE_OQ));
      size[i] = _mm256_max_ps(size[i], nonnegative ? value : absolute);
    }
  if (_mm256_movemask_ps(finite) != 255) return std::nanf("");
  float each[8];
  _mm256_storeu_ps(each, _mm256_max_ps(_mm256_max_ps(size[0], size[1]), _mm256_max_ps(size[2], size[3])));
  const Steps steps(*std::max_element(each, each + 8), nonnegative);
  const __m256 rate = _mm256_set1_ps(steps.rate);
  const __m256i zero = _mm256_set1_epi32(steps.zero);
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const __m256i bottom = _mm256_set1_epi8(static_cast<char>(steps.zero ? 1 : 0));
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

Quantize quantizer(int kind) {
#ifdef FENSTER_X86
  if (kind != 1 && __builtin_cpu_supports("avx2")) return quantize_avx2;
#endif
  return quantize_plain;
}

}  // namespace

FENSTER_EXPORT int64_t fenster_int8_bytes(int64_t columns, int64_t depth) { return up(columns, kBlock) * up(depth, 4); }

// Pack weights [columns, depth]; `sums` [columns] are those of each column.
FENSTER_EXPORT void fenster_int8_pack(const int8_t* weights, int64_t columns, int64_t depth, int8_t* packed,
                                      int32_t* sums) {
  const long deep = up(depth, 4);
  std::memset(packed, 0, up(columns, kBlock) * deep);
  for (long column = 0; column < columns; ++column) {
    int8_t* out = packed + column / kBlock * kBlock * deep + column % kBlock * 4;
    int32_t sum = 0;
    for (long k = 0; k < depth; ++k) {
      const int8_t value = weights[column * depth + k];
      out[k / 4 * 4 * kBlock + k % 4] = value;
      sum += value;
    }
    sums[column] = sum;
  }
}

// y [rows, columns] = x [rows, depth] times the packed weights, plus a bias that may be null. Returns 0; 1 if x holds
// NaN or infinity, 2 if the processor lacks the `kind` of instructions.
FENSTER_EXPORT int fenster_int8_linear(const float* x, int64_t rows, int64_t depth, const int8_t* packed,
                                       const int32_t* sums, const float* scale, const float* bias, int64_t columns,
                                       float* y, int nonnegative, int threads, int kind) {
  const Kernel run = kernel(kind);
  if (!run) return 2;
  const Quantize quantize = quantizer(kind);
  const long deep = up(depth, 4);
  static thread_local std::vector<uint8_t> quantized;
  static thread_local std::vector<float> factors;
  quantized.resize(static_cast<size_t>(rows * deep));
  const int32_t zero = zero_of(nonnegative != 0);
  if (deep != depth) std::fill(quantized.begin(), quantized.end(), static_cast<uint8_t>(zero));
  factors.resize(static_cast<size_t>(rows));
  bool finite = true;
  for (long row = 0; row < rows; ++row) {
    factors[row] = quantize(x + row * depth, depth, nonnegative != 0, quantized.data() + row * deep);
    finite &= factors[row] == factors[row];
  }
  if (!finite) return 1;
  const Job job{quantized.data(), packed, sums, scale, bias, factors.data(), y, static_cast<long>(rows),
                static_cast<long>(columns), deep, zero};
  const long panels = up(up(columns, kBlock) / kBlock, kPanel) / kPanel;
  const long blocks = up(columns, kBlock) / kBlock;
  const double work = static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(depth);
  in_parts(panels, threads, work, kThreadWork, [&](long first, long last) {
    for (long row = 0; row < rows; row += kChunk) {  // the rows of a chunk stay in the cache
      Job chunk = job;
      chunk.rows = std::min(kChunk, static_cast<long>(rows) - row);
      chunk.a += row * deep;
      chunk.factor += row;
      chunk.y += row * columns;
      run(chunk, first * kPanel, std::min(blocks, last * kPanel));
    }
  });
  return 0;
}
