// Rows times a matrix, of either kind of weights, on several threads.

#pragma once

#include "float_product.h"
#include "int8_product.h"

namespace {

constexpr double kProductWork = 500000;  // multiplications that are worth a thread of their own
constexpr long kChunk = 96;              // rows that all columns meet before the next ones do

// y [rows, columns] = x [rows, depth] times the matrix, plus the bias.
inline void multiply(const Matrix& matrix, const float* x, long rows, float* y, int threads) {
  static thread_local QuantizedRows quantized;  // its memory is used again
  for (long row = 0; row < rows; row += kChunk) {
    const long count = std::min(kChunk, rows - row);
    const double work = static_cast<double>(count) * static_cast<double>(matrix.columns * matrix.depth);
    const float* from = x + row * matrix.depth;
    float* to = y + row * matrix.columns;
    if (matrix.is_int8) {
      quantized.fill(from, count, matrix.depth, matrix.after_relu != 0, threads);
      const Int8Job job{matrix, quantized, to};
      const Int8Kernel kernel = int8_kernel();
      in_parts(matrix.panels(), threads, work, kProductWork, [&](long first, long last) {
        for (long panel = first; panel < last; ++panel) kernel(job, panel);
      });
    } else {
      const FloatJob job{matrix, from, count, to};
      const FloatKernel kernel = float_kernel();
      in_parts(matrix.panels(), threads, work, kProductWork, [&](long first, long last) {
        for (long panel = first; panel < last; ++panel) kernel(job, panel);
      });
    }
  }
}

// A buffer for so many numbers. What it held is lost, so that growing copies nothing.
inline void make_room(std::vector<float>& buffer, long size) {
  if (buffer.capacity() < static_cast<size_t>(size)) std::vector<float>().swap(buffer);
  buffer.resize(static_cast<size_t>(size));
}

inline void multiply(const Matrix& matrix, const float* x, long rows, std::vector<float>& y, int threads) {
  make_room(y, rows * matrix.columns);
  multiply(matrix, x, rows, y.data(), threads);
}

}  // namespace
