// Linear layers as they lie in memory. Weights are packed in panels of 64 columns, which products read from one end to
// the other: as float32 [columns / 64][depth][64], or as int8 [columns / 64][depth / 4][64 columns][4 depths], of which a
// VNNI instruction takes 16 columns at once.

#pragma once

#include <cstdint>

#include "common.h"

namespace {

constexpr long kBlock = 16;            // columns that one register of 512 bits holds
constexpr long kPanel = 4;             // blocks of a panel
constexpr long kWidth = kBlock * kPanel;
constexpr long kAhead = 2048;          // bytes that are fetched before they are read

}  // namespace

struct Matrix {
  const void* packed;
  const int32_t* sums;  // int8: [columns], of each column's weights
  const float* scale;   // int8: [columns], what they are multiplied with
  const float* bias;    // [columns], or null
  int64_t columns, depth;
  int64_t is_int8;
  int64_t after_relu;   // of its inputs, negative numbers count as zero

  const int8_t* int8_panel(long panel) const {
    return static_cast<const int8_t*>(packed) + panel * kWidth * up(depth, 4);
  }
  const float* float_panel(long panel) const { return static_cast<const float*>(packed) + panel * kWidth * depth; }
  long panels() const { return up(columns, kWidth) / kWidth; }
  // Blocks of a panel that hold columns.
  long blocks(long panel) const { return std::min(kPanel, up(columns - panel * kWidth, kBlock) / kBlock); }
};

namespace {

inline long int8_place(const Matrix& matrix, long column, long k) {
  return column / kWidth * kWidth * up(matrix.depth, 4) + k / 4 * 4 * kWidth + column % kWidth * 4 + k % 4;
}

inline long float_place(const Matrix& matrix, long column, long k) {
  return column / kWidth * kWidth * matrix.depth + k * kWidth + column % kWidth;
}

// out [depth]: the weights of one column, as an embedding has them.
inline void column_of(const Matrix& matrix, long column, float* out) {
  if (matrix.is_int8) {
    const int8_t* weights = static_cast<const int8_t*>(matrix.packed) + int8_place(matrix, column, 0);
    for (long k = 0; k < matrix.depth; ++k)
      out[k] = static_cast<float>(weights[k / 4 * 4 * kWidth + k % 4]) * matrix.scale[column];
  } else {
    const float* weights = static_cast<const float*>(matrix.packed) + float_place(matrix, column, 0);
    for (long k = 0; k < matrix.depth; ++k) out[k] = weights[k * kWidth];
  }
}

}  // namespace
