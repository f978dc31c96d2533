// A transformer as `model/compiled` hands it over, and what its encoder and decoder share.

#pragma once

#include <vector>

#include "attention.h"
#include "norm.h"
#include "product.h"

struct EncoderLayer {
  Matrix qkv, out, up, down;
  Norm attention_norm, ffn_norm;
  const float* table;  // [2 * max_distance + 1, width] relative vectors of self-attention, or null
};

struct DecoderLayer {
  Matrix qkv, out, cross_q, cross_kv, cross_out, up, down;
  Norm attention_norm, cross_norm, ffn_norm;
  const float* table;
};

struct Network {
  const EncoderLayer* encoder;
  const DecoderLayer* decoder;
  int64_t encoder_layers, decoder_layers, width, heads;
  Matrix embedding;  // [vocabulary, width], also the projection to the vocabulary
  Norm encoder_norm, decoder_norm;
  int64_t norm_first;  // before each sub-layer and at the end; otherwise after each sub-layer
  int64_t sinusoids;   // added to embeddings
  int64_t window;      // keys on either side that a query sees; -1: all
  int64_t branches;    // of self-attention, side by side: the second sees the query's own sentence only
  int64_t max_distance;
};

namespace {

using Floats = std::vector<float>;

constexpr double kRowWork = 20000;  // numbers that are worth a thread of their own

// Operations on rows [rows, width].
class Layers {
 public:
  Layers(const Network& network, int threads)
      : network(network), threads(threads), width(network.width), norm_(norm_row()),
        attend_(attend_for(network.width / network.heads)) {
    if (!network.sinusoids) return;
    const long half = width / 2;
    for (long k = 0; k < half; ++k)
      rates_.push_back(std::exp(static_cast<float>(k) * (-std::log(10000.0f) / static_cast<float>(std::max(half - 1, 1L)))));
  }

  // out [width]: the embedding of a token at a position of its document.
  void embed(int32_t id, long position, float* out) const {
    column_of(network.embedding, id, out);
    const float root = std::sqrt(static_cast<float>(width));
    for (long k = 0; k < width; ++k) out[k] *= root;
    const long half = static_cast<long>(rates_.size());
    for (long k = 0; k < half; ++k) {
      const float angle = static_cast<float>(position) * rates_[k];
      out[k] += std::sin(angle);
      out[half + k] += std::cos(angle);
    }
  }

  // What a sub-layer reads: x, or its norm where norms come first.
  const float* input(const Norm& norm, const float* x, long rows) {
    if (!network.norm_first) return x;
    make_room(normed_, rows * width);
    by_rows(rows, [&](long row) { norm_(x + row * width, nullptr, width, norm, &normed_[row * width]); });
    return normed_.data();
  }

  // x becomes what follows a sub-layer that made y of it.
  void add(const Norm& norm, const Floats& y, long rows, float* x) const {
    by_rows(rows, [&](long row) {
      float* to = x + row * width;
      if (!network.norm_first) return norm_(to, &y[row * width], width, norm, to);
      for (long k = 0; k < width; ++k) to[k] += y[row * width + k];
    });
  }

  // The norm at the end, where there is one.
  void end(const Norm& norm, long rows, Floats& x) const {
    if (network.norm_first) by_rows(rows, [&](long row) { norm_(&x[row * width], nullptr, width, norm, &x[row * width]); });
  }

  // Some rows at a time: what is between the two products is wide.
  void feed_forward(const Matrix& up, const Matrix& down, const Norm& norm, long rows, float* x) {
    const float* from = input(norm, x, rows);
    make_room(narrow_, rows * width);
    make_room(wide_, std::min(rows, kChunk) * up.columns);
    for (long first = 0; first < rows; first += kChunk) {
      const long count = std::min(kChunk, rows - first);
      multiply(up, from + first * width, count, wide_.data(), threads);
      if (!down.is_int8)  // otherwise bytes have no sign
        by_rows(count, [&](long row) {
          for (long k = row * up.columns; k < (row + 1) * up.columns; ++k) wide_[k] = std::max(wide_[k], 0.0f);
        });
      multiply(down, wide_.data(), count, &narrow_[first * width], threads);
    }
    add(norm, narrow_, rows, x);
  }

  // out [rows, branches * width]: attention of each row to what see(row, branch, seen) says, which returns its query;
  // then took(row, seen) may look at the weights. `keys`: about how many a query sees.
  template <typename See, typename Took>
  void attention(long rows, long branches, long keys, Floats& out, const See& see, const Took& took) const {
    make_room(out, rows * branches * width);
    const double work = 4.0 * static_cast<double>(rows * branches * keys * width);
    in_parts(rows, threads, work, 20 * kRowWork, [&](long begin, long end) {
      static thread_local Seen seen;
      for (long row = begin; row < end; ++row)
        for (long branch = 0; branch < branches; ++branch) {
          seen.clear();
          const float* query = see(row, branch, seen);
          attend_to(attend_, seen, query, network.heads, width / network.heads, &out[(row * branches + branch) * width]);
          took(row, seen);
        }
    });
  }

  template <typename See>
  void attention(long rows, long branches, long keys, Floats& out, const See& see) const {
    attention(rows, branches, keys, out, see, [](long, const Seen&) {});
  }

  // The relative vector of a distance.
  const float* relative(const float* table, long distance) const {
    const long most = network.max_distance;
    return table + (std::min(std::max(distance, -most), most) + most) * width;
  }

  template <typename Do>
  void by_rows(long rows, const Do& one) const {
    in_parts(rows, threads, static_cast<double>(rows * width), kRowWork, [&](long begin, long end) {
      for (long row = begin; row < end; ++row) one(row);
    });
  }

  // Gives back what many rows needed.
  void release() {
    for (Floats* buffer : {&normed_, &wide_, &narrow_}) Floats().swap(*buffer);
  }

  const Network& network;
  int threads;
  const long width;

 private:
  NormRow norm_;
  Attend attend_;
  Floats rates_, normed_, wide_, narrow_;
};

}  // namespace
