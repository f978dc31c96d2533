// The decoder over several searches at once: given tokens all together, then one token per hypothesis and step.
//
// Keys and values of what is given are kept once per search, those of new tokens once per step and hypothesis; with
// windows, only those that the next token can see.

#pragma once

#include "encoder.h"

// What is given of a target, `<bos>` or what precedes it first. The last of its sentences is that of the token to come.
struct Target {
  const int32_t* inputs;
  const int32_t* starts;        // [sentences + 1]
  int64_t tokens, sentences;
  int64_t position;             // of the first token in the document
  const int32_t* centers;       // [tokens] source tokens that cross-attention is centered on; null without windows
  const int32_t* next_centers;  // [rows, columns] those of tokens to come
  int64_t rows, columns;
  int64_t by_sentence;          // rows are sentences and columns tokens of them; otherwise one row of all tokens
};

namespace {

// A hypothesis on its way: the token that it has just chosen, and where that is.
struct Line {
  long search = 0;
  int32_t token = 0;
  long sentence = 0, inner = 0;  // of the token that comes next
  std::vector<int32_t> slots;    // of its new tokens that the next one can see, oldest first
};

class Decoder {
 public:
  Decoder(Layers& layers, long most_lines) : layers_(layers), network_(layers.network), most_lines_(most_lines) {}

  // `states` of the sources' last tokens, in `spans`; hidden [searches, width] predicts the first new token of each.
  // `whole`: of all given tokens instead, one search after the other. `took` may look at weights of cross-attention.
  template <typename Took>
  void prefill(const std::vector<Source>& sources, const std::vector<Target>& targets, const Floats& states,
               const std::vector<Span>& spans, bool focus, bool whole, Floats& hidden, const Took& took) {
    sources_ = sources;
    targets_ = targets;
    spans_ = spans;
    focus_ = focus;
    const long depth = network_.decoder_layers;
    source_kv_.resize(depth);
    given_kv_.assign(depth, {});
    given_.assign(depth, {});
    new_kv_.assign(depth, std::vector<Floats>(targets.size()));
    steps_ = 0;
    for (long level = 0; level < depth; ++level)
      multiply(network_.decoder[level].cross_kv, states.data(), static_cast<long>(states.size()) / layers_.width,
               source_kv_[level], layers_.threads);
    std::vector<Span> read = rows_of(0, whole);
    x_.resize(static_cast<size_t>(rows_in(read) * layers_.width));
    for (size_t n = 0; n < targets.size(); ++n)
      for (long token = read[n].begin; token < read[n].end; ++token)
        layers_.embed(targets[n].inputs[token], targets[n].position + token, &x_[read[n].row(token) * layers_.width]);
    for (long level = 0; level < depth; ++level) {
      const std::vector<Span> next = rows_of(level + 1, whole);
      given_layer(level, read, next, took);
      read = next;
    }
    layers_.end(network_.decoder_norm, rows_in(read), x_);
    hidden = x_;
    // Steps need far less room.
    for (Floats* buffer : {&x_, &new_, &qkv_, &q_, &context_, &y_}) Floats().swap(*buffer);
    layers_.release();
  }

  // One more token for each line; hidden [lines, width] predicts the next one. The lines of a search are neighbours.
  void step(std::vector<Line>& lines, Floats& hidden) {
    const long rows = static_cast<long>(lines.size());
    make_room(lines);
    x_.resize(static_cast<size_t>(rows * layers_.width));
    layers_.by_rows(rows, [&](long row) {
      const Target& target = targets_[lines[row].search];
      layers_.embed(lines[row].token, target.position + target.tokens + steps_, &x_[row * layers_.width]);
    });
    for (long level = 0; level < network_.decoder_layers; ++level) new_layer(level, lines);
    layers_.end(network_.decoder_norm, rows, x_);
    hidden = x_;
    ++steps_;
  }

 private:
  // The given tokens whose rows the layer `level` reads: those that the last one depends on.
  std::vector<Span> rows_of(long level, bool whole) const {
    std::vector<Span> spans;
    long at = 0;
    for (const Target& target : targets_) {
      const long reach = (network_.decoder_layers - level) * static_cast<long>(network_.window);
      const bool all = whole || (network_.window < 0 && level < network_.decoder_layers);
      const long begin = all ? 0 : std::max(0L, static_cast<long>(target.tokens) - 1 - std::max(0L, reach));
      spans.push_back({begin, static_cast<long>(target.tokens), at});
      at += spans.back().end - begin;
    }
    return spans;
  }

  static long rows_in(const std::vector<Span>& spans) { return spans.back().row(spans.back().end); }

  template <typename Took>
  void given_layer(long level, const std::vector<Span>& read, const std::vector<Span>& next, const Took& took) {
    const DecoderLayer& weights = network_.decoder[level];
    const long width = layers_.width, rows = rows_in(read), left = rows_in(next);
    multiply(weights.qkv, layers_.input(weights.attention_norm, x_.data(), rows), rows, qkv_, layers_.threads);
    keep_given(level, read);
    owners_.clear();
    for (size_t n = 0; n < next.size(); ++n) owners_.insert(owners_.end(), next[n].end - next[n].begin, n);
    const auto token_of = [&](long row) { return next[owners_[row]].begin + row - next[owners_[row]].at; };
    layers_.attention(left, network_.branches, keys(), context_, [&](long row, long branch, Seen& seen) {
      const size_t n = owners_[row];
      const long token = token_of(row);
      long first = network_.window < 0 ? 0 : std::max(0L, token - static_cast<long>(network_.window));
      const Target& target = targets_[n];
      if (branch)
        first = std::max(first, static_cast<long>(target.starts[sentence_of(target.starts, target.sentences, token)]));
      see_given(level, n, first, token + 1, token, seen);
      return static_cast<const float*>(&qkv_[read[n].row(token) * 3 * width]);
    });
    multiply(weights.out, context_.data(), left, y_, layers_.threads);
    new_.resize(static_cast<size_t>(left * width));
    for (size_t n = 0; n < next.size(); ++n)
      std::copy(&x_[0] + read[n].row(next[n].begin) * width, &x_[0] + read[n].row(next[n].end) * width,
                &new_[0] + next[n].at * width);
    x_.swap(new_);
    layers_.add(weights.attention_norm, y_, left, x_.data());
    multiply(weights.cross_q, layers_.input(weights.cross_norm, x_.data(), left), left, q_, layers_.threads);
    layers_.attention(
        left, 1, keys(), context_,
        [&](long row, long, Seen& seen) {
          const Target& target = targets_[owners_[row]];
          const long token = token_of(row), sentence = sentence_of(target.starts, target.sentences, token);
          const bool focused = focus_ && token == target.tokens - 1;
          see_source(level, owners_[row], target.centers ? target.centers[token] : 0, focused ? sentence : -1, seen);
          return static_cast<const float*>(&q_[row * width]);
        },
        took);
    after_attention(weights, left);
  }

  void new_layer(long level, const std::vector<Line>& lines) {
    const DecoderLayer& weights = network_.decoder[level];
    const long width = layers_.width, rows = static_cast<long>(lines.size());
    multiply(weights.qkv, layers_.input(weights.attention_norm, x_.data(), rows), rows, qkv_, layers_.threads);
    for (long row = 0; row < rows; ++row) {
      const float* kv = &qkv_[row * 3 * width + width];
      std::copy(kv, kv + 2 * width, &new_kv_[level][lines[row].search][lines[row].slots.back() * 2 * width]);
    }
    layers_.attention(rows, network_.branches, keys(), context_, [&](long row, long branch, Seen& seen) {
      see_line(level, lines[row], branch != 0, seen);
      return static_cast<const float*>(&qkv_[row * 3 * width]);
    });
    multiply(weights.out, context_.data(), rows, y_, layers_.threads);
    layers_.add(weights.attention_norm, y_, rows, x_.data());
    multiply(weights.cross_q, layers_.input(weights.cross_norm, x_.data(), rows), rows, q_, layers_.threads);
    layers_.attention(rows, 1, keys(), context_, [&](long row, long, Seen& seen) {
      const Line& line = lines[row];
      see_source(level, line.search, center(line), focus_ ? line.sentence : -1, seen);
      return static_cast<const float*>(&q_[row * width]);
    });
    after_attention(weights, rows);
  }

  void after_attention(const DecoderLayer& weights, long rows) {
    multiply(weights.cross_out, context_.data(), rows, y_, layers_.threads);
    layers_.add(weights.cross_norm, y_, rows, x_.data());
    layers_.feed_forward(weights.up, weights.down, weights.ffn_norm, rows, x_.data());
  }

  // Of the given tokens, keys and values that the last one or a later one can see, in this layer.
  void keep_given(long level, const std::vector<Span>& read) {
    const long width = layers_.width;
    given_[level] = read;
    given_kv_[level].resize(static_cast<size_t>(rows_in(read) * 2 * width));
    for (long row = 0; row < rows_in(read); ++row) {
      const float* kv = &qkv_[row * 3 * width + width];
      std::copy(kv, kv + 2 * width, &given_kv_[level][row * 2 * width]);
    }
  }

  void see_given(long level, size_t search, long first, long end, long query, Seen& seen) const {
    const float* table = network_.decoder[level].table;
    for (long token = first; token < end; ++token) {
      const float* at = &given_kv_[level][given_[level][search].row(token) * 2 * layers_.width];
      seen.add(at, at + layers_.width);
      if (table) seen.relative.push_back(layers_.relative(table, query - token));
    }
  }

  // The newest token of a line sees the given tokens and the line's own, itself included.
  void see_line(long level, const Line& line, bool own_sentence, Seen& seen) const {
    const float* table = network_.decoder[level].table;
    const long given = targets_[line.search].tokens, query = given + steps_;
    long first = network_.window < 0 ? 0 : std::max(0L, query - static_cast<long>(network_.window));
    if (own_sentence) first = std::max(first, query - line.inner);
    see_given(level, line.search, first, given, query, seen);
    const float* kv = new_kv_[level][line.search].data();
    for (long token = std::max(first, given); token <= query; ++token) {
      const float* at = kv + line.slots[line.slots.size() - 1 - (query - token)] * 2 * layers_.width;
      seen.add(at, at + layers_.width);
      if (table) seen.relative.push_back(layers_.relative(table, query - token));
    }
  }

  // Source tokens around a center; of these only the sentence's own (-1: all), if there are any.
  void see_source(long level, size_t search, long center, long sentence, Seen& seen) const {
    const Source& source = sources_[search];
    long first = spans_[search].begin, end = spans_[search].end;
    if (network_.window >= 0) {
      first = std::max(first, center - static_cast<long>(network_.window));
      end = std::min(end, center + static_cast<long>(network_.window) + 1);
      if (sentence >= 0) {
        const long own = std::min(sentence, static_cast<long>(source.sentences) - 1);
        const long own_first = std::max(first, static_cast<long>(source.starts[own]));
        const long own_end = std::min(end, static_cast<long>(source.starts[own + 1]));
        if (own_first < own_end && own == sentence) first = own_first, end = own_end;
      }
    }
    seen.first = first;
    for (long token = first; token < end; ++token) {
      const float* at = &source_kv_[level][spans_[search].row(token) * 2 * layers_.width];
      seen.add(at, at + layers_.width);
    }
  }

  long center(const Line& line) const {
    const Target& target = targets_[line.search];
    if (!target.next_centers) return 0;
    const long sentence = line.sentence - (target.sentences - 1);
    const long row = target.by_sentence ? std::min(sentence, static_cast<long>(target.rows) - 1) : 0;
    const long column = std::min(target.by_sentence ? line.inner : steps_ + 1, static_cast<long>(target.columns) - 1);
    return target.next_centers[row * target.columns + column];
  }

  // A slot for each line's newest token. With windows, slots are used again when no token can see them.
  void make_room(std::vector<Line>& lines) {
    const long ring = network_.window < 0 ? steps_ + 1 : network_.window + 1;
    std::vector<long> taken(targets_.size(), 0);
    for (Line& line : lines) {
      const long slot = steps_ % ring * most_lines_ + taken[line.search]++;
      line.slots.push_back(static_cast<int32_t>(slot));
      if (network_.window >= 0 && static_cast<long>(line.slots.size()) > ring) line.slots.erase(line.slots.begin());
      for (std::vector<Floats>& kv : new_kv_) {
        const size_t size = static_cast<size_t>((slot / most_lines_ + 1) * most_lines_ * 2 * layers_.width);
        if (network_.window >= 0) kv[line.search].reserve(static_cast<size_t>(ring * most_lines_ * 2 * layers_.width));
        if (kv[line.search].size() < size) kv[line.search].resize(size);
      }
    }
  }

  long keys() const { return network_.window < 0 ? 64 : 2 * network_.window + 1; }

  Layers& layers_;
  const Network& network_;
  const long most_lines_;
  bool focus_ = false;
  long steps_ = 0;  // tokens of every line that are in the caches
  std::vector<Source> sources_;
  std::vector<Target> targets_;
  std::vector<Span> spans_;  // of the sources in source_kv_
  std::vector<Floats> source_kv_, given_kv_;     // by layer
  std::vector<std::vector<Floats>> new_kv_;      // by layer and search
  std::vector<std::vector<Span>> given_;         // by layer: what given_kv_ holds
  std::vector<size_t> owners_;
  Floats x_, new_, qkv_, q_, context_, y_;
};

}  // namespace
