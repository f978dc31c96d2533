// What the kernels of int8 products share (int8_product.h).

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

// `sums` [rows][16]: whole numbers of some rows, from `row` on, and a block's columns.
using Sums = void (*)(const QuantizedRows& x, long row, const int8_t* weights, int32_t (*sums)[kBlock]);

// The weights of a panel's columns for the n-th large input.
inline const int8_t* large_weights(const Int8Job& job, long panel, long n) {
  return job.matrix.int8_panel(panel) + job.x.inputs[n] / 4 * 4 * kWidth;
}

inline float* room_for_large(const Int8Job& job) {
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

// y of a panel; `sums` [Most] for one row to `Most` rows at a time.
template <int Most>
void panel_of_sums(const Int8Job& job, long panel, const Sums (&sums)[Most]) {
  const QuantizedRows& x = job.x;
  for (long block = 0; block < job.matrix.blocks(panel); ++block)
    for (long first = 0; first < x.rows; first += Most) {
      const long count = std::min<long>(Most, x.rows - first);
      int32_t made[Most][kBlock];
      sums[count - 1](x, first, job.matrix.int8_panel(panel) + block * kBlock * 4, made);
      for (long r = 0; r < count; ++r) {
        const LargeOfRow& large = x.large[first + r];
        float value[kBlock];
        for (long j = 0; j < kBlock; ++j) value[j] = static_cast<float>(made[r][j]) * x.factors[first + r];
        for (int l = 0; l < large.count; ++l) {
          const Large& number = large.numbers[l];
          const int8_t* words = large_weights(job, panel, number.input) + block * kBlock * 4 + x.inputs[number.input] % 4;
          for (long j = 0; j < kBlock; ++j) value[j] += number.value * static_cast<float>(words[j * 4]);
        }
        finish(job, first + r, panel * kWidth + block * kBlock, value);
      }
    }
}

}  // namespace
