// Beam search over many requests at once. Each is by itself: its result does not depend on the others.

#pragma once

#include <numeric>

#include "candidates.h"
#include "decoder.h"

struct Request {
  Source source;
  Target target;
  const int32_t* max_tokens;  // [count] of each sentence to come, end symbol left out; the last serves further ones
  int64_t count, min_tokens;
  int64_t forced_count;       // exactly `count` sentences; otherwise the end may come at any time
  int64_t stop_at_separator;  // the first end symbol of either kind ends a hypothesis
  const uint8_t* required;    // [count, placeholders] those that each sentence must have once; null: none
  const uint8_t* banned;      // [vocabulary] words that may not come; null: none
};

struct Settings {
  int64_t beam;
  double normalisation;
  int64_t separator, end;         // the end symbols of a sentence and of all
  int64_t first_word;             // ids below it are symbols
  int64_t first_placeholder, placeholders;
  int64_t focus;
};

namespace {

struct Finished {
  std::vector<int32_t> ids, forced;  // tokens; and for each the sentence that it ends by force, or -1
  double logprob, score;
};

class BeamSearch {
 public:
  BeamSearch(const Settings& settings, const std::vector<Request>& requests, long vocabulary)
      : settings_(settings), requests_(requests), vocabulary_(vocabulary), searches_(requests.size()) {
    for (size_t n = 0; n < requests.size(); ++n) {
      Hypothesis first;
      first.line.search = static_cast<long>(n);
      first.line.sentence = requests[n].target.sentences - 1;
      first.line.inner = requests[n].target.tokens - 1 - requests[n].target.starts[requests[n].target.sentences - 1];
      first.used.assign(requests[n].required ? settings.placeholders : 0, 0);
      searches_[n].alive.push_back(first);
    }
  }

  // Those of all hypotheses that are alive, search by search.
  std::vector<Line> lines() const {
    std::vector<Line> all;
    for (const Search& search : searches_)
      for (const Hypothesis& one : search.alive) all.push_back(one.line);
    return all;
  }

  void set_lines(const std::vector<Line>& lines) {
    size_t n = 0;
    for (Search& search : searches_)
      for (Hypothesis& one : search.alive) one.line.slots = lines[n++].slots;
  }

  size_t count() const { return searches_.size(); }
  size_t alive(size_t number) const { return searches_[number].alive.size(); }
  const Request& request(size_t number) const { return requests_[number]; }
  // How many words of each hypothesis are candidates.
  long words() const { return std::min<long>(2 * settings_.beam, vocabulary_); }

  // What may follow a hypothesis: its logits [vocabulary], the logarithm of their sum, and its best words, best first.
  struct Scored {
    const float* logits;
    float log_sum;
    const float* values;  // [words]
    const int32_t* ids;
  };

  // A step of one search; `scored` has its hypotheses that are alive.
  void advance(size_t number, const Scored* scored) {
    Search& search = searches_[number];
    std::vector<Candidate> all;
    for (size_t n = 0; n < search.alive.size(); ++n) offer(requests_[number], search.alive[n], n, scored[n], all);
    const size_t kept = std::min<size_t>(2 * settings_.beam, all.size());
    std::partial_sort(all.begin(), all.begin() + kept, all.end(), [](const Candidate& a, const Candidate& b) {
      return a.logprob != b.logprob ? a.logprob > b.logprob : a.order < b.order;
    });
    all.resize(kept);
    std::vector<Hypothesis> next;
    for (size_t n = 0; n < all.size(); ++n) {
      if (!ends(requests_[number], all[n].token)) {
        if (next.size() < static_cast<size_t>(settings_.beam)) next.push_back(continued(search, all[n]));
      } else if (n < static_cast<size_t>(settings_.beam)) {  // an end counts only among the best
        finish(search, all[n]);
      }
    }
    if (search.finished.size() >= static_cast<size_t>(settings_.beam)) next.clear();
    search.alive = std::move(next);
  }

  // The hypotheses of a search, best first.
  std::vector<Finished> best(size_t number) {
    std::vector<Finished>& finished = searches_[number].finished;
    std::stable_sort(finished.begin(), finished.end(), [](const Finished& a, const Finished& b) { return a.score > b.score; });
    if (finished.size() > static_cast<size_t>(settings_.beam)) finished.resize(settings_.beam);
    return finished;
  }

 private:
  struct Hypothesis {
    Line line;
    double logprob = 0;
    long node = -1;
    std::vector<uint8_t> used;  // placeholders that its sentence has
  };
  struct Node {  // a token and what precedes it
    long before;
    int32_t token, forced;
  };
  struct Candidate {
    double logprob;
    long order;
    size_t parent;
    int32_t token, forced;
  };
  struct Search {
    std::vector<Hypothesis> alive;
    std::vector<Node> nodes;
    std::vector<Finished> finished;
  };

  bool ends(const Request& request, int32_t token) const {
    return token == settings_.end || (token == settings_.separator && request.stop_at_separator);
  }

  // What may follow a hypothesis. A sentence ends when it has all its placeholders, or by force when it is full; when
  // there is only room for its placeholders, nothing else may come.
  void offer(const Request& request, const Hypothesis& parent, size_t number, const Scored& scored,
             std::vector<Candidate>& all) const {
    const long sentence = parent.line.sentence - (request.target.sentences - 1);  // of those to come
    const long limited_by = std::min(sentence, static_cast<long>(request.count) - 1);
    const long room = request.max_tokens[limited_by] - parent.line.inner;
    std::vector<long> pending;
    if (sentence < request.count)
      for (size_t n = 0; n < parent.used.size(); ++n)
        if (request.required[limited_by * settings_.placeholders + n] && !parent.used[n]) pending.push_back(n);
    const long missing = static_cast<long>(pending.size());
    const bool full = room <= 0 && !missing;
    const bool no_word = full || (missing && room <= missing);
    const bool early = missing || (parent.line.inner < request.min_tokens && !full);
    // Which end symbol: either if one sentence is asked for, else as the count demands. A full sentence ends with the
    // symbol that the count expects; without forced counts there is an end to surplus sentences too.
    const bool last = sentence >= request.count - 1, surplus = sentence >= 2 * request.count;
    const bool counted = (request.forced_count || full) && !request.stop_at_separator;
    const auto add = [&](float value, int32_t token) {
      if (!(value > kNever)) return;
      const double logprob = parent.logprob + static_cast<double>(value - scored.log_sum);
      all.push_back({logprob, static_cast<long>(all.size()), number, token, full ? static_cast<int32_t>(limited_by) : -1});
    };
    for (long n = 0; !no_word && n < words(); ++n) add(scored.values[n], scored.ids[n]);
    for (const long n : pending) add(scored.logits[settings_.first_placeholder + n], settings_.first_placeholder + n);
    if (!early && !(counted && last) && !surplus) add(scored.logits[settings_.separator], settings_.separator);
    if (!early && !(counted && !last && !surplus)) add(scored.logits[settings_.end], settings_.end);
  }

  Hypothesis continued(Search& search, const Candidate& candidate) const {
    Hypothesis next = search.alive[candidate.parent];
    const bool separates = candidate.token == settings_.separator;
    search.nodes.push_back({next.node, candidate.token, candidate.forced});
    next.node = static_cast<long>(search.nodes.size()) - 1;
    next.logprob = candidate.logprob;
    next.line.token = candidate.token;
    next.line.sentence += separates;
    next.line.inner = separates ? 0 : next.line.inner + 1;
    const long placeholder = candidate.token - settings_.first_placeholder;
    if (separates) std::fill(next.used.begin(), next.used.end(), 0);
    if (placeholder >= 0 && placeholder < static_cast<long>(next.used.size())) next.used[placeholder] = 1;
    return next;
  }

  void finish(Search& search, const Candidate& candidate) const {
    Finished made;
    made.ids.push_back(candidate.token);
    made.forced.push_back(candidate.forced);
    for (long node = search.alive[candidate.parent].node; node >= 0; node = search.nodes[node].before) {
      made.ids.push_back(search.nodes[node].token);
      made.forced.push_back(search.nodes[node].forced);
    }
    std::reverse(made.ids.begin(), made.ids.end());
    std::reverse(made.forced.begin(), made.forced.end());
    made.logprob = candidate.logprob;
    made.score = candidate.logprob / std::pow(static_cast<double>(made.ids.size()), settings_.normalisation);
    search.finished.push_back(std::move(made));
  }

  const Settings settings_;
  const std::vector<Request>& requests_;
  const long vocabulary_;
  std::vector<Search> searches_;
};

}  // namespace
