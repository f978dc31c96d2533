// Threads that wait for work: for a moment awake, since in a search one piece of work follows the other, then asleep.

#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#if !defined(_WIN32)
#include <unistd.h>
#endif

class Pool {
 public:
  // The pool for what the calling thread has to do: the first of the process, or that of the team it leads.
  static Pool& current() { return numbered(team()); }

  // While it exists, this thread leads team n of those that work side by side: what it splits does not wait for theirs.
  class Leading {
   public:
    explicit Leading(long n) : before_(team()) { team() = n + 1; }
    ~Leading() { team() = before_; }
    Leading(const Leading&) = delete;
    Leading& operator=(const Leading&) = delete;

   private:
    const long before_;
  };

  // Call work(0) … work(parts - 1), one of them here. Where another thread of the program uses the pool, all are called
  // here. What one of them throws is thrown here when all have ended.
  void run(long parts, const std::function<void(long)>& work) {
    const std::unique_lock<std::mutex> alone(turn_, std::try_to_lock);
    if (!alone.owns_lock()) {
      for (long number = 0; number < parts; ++number) work(number);
      return;
    }
    {
      const std::lock_guard<std::mutex> hold(state_);
      try {
        for (; size_ < parts - 1; ++size_) std::thread(&Pool::serve, this).detach();
      } catch (const std::system_error&) {  // no more threads to be had: those that are there do the work
      }
      work_ = &work;
      parts_ = parts;
      next_ = 0;
      ++job_;
    }
    if (asleep_.load() > 0)
      for (long n = 1; n < parts; ++n) wake_.notify_one();
    take(work, parts);
    {
      const std::lock_guard<std::mutex> hold(state_);
      work_ = nullptr;  // whoever wakes up now is too late
    }
    const bool done = awake_until([&] { return busy_.load() == 0; });
    std::unique_lock<std::mutex> hold(state_);
    if (!done) finished_.wait(hold, [&] { return busy_.load() == 0; });
    if (const std::exception_ptr thrown = std::exchange(thrown_, nullptr)) std::rethrow_exception(thrown);
  }

 private:
  static constexpr int kLooks = 400;  // at a word that another thread will change: some 20 microseconds

  // At hand in every thread from its start, so that none fails for want of memory here.
#if defined(__linux__)
#define FENSTER_AT_HAND __attribute__((tls_model("initial-exec")))
#else
#define FENSTER_AT_HAND
#endif

  static long& team() {
    static thread_local FENSTER_AT_HAND long number = 0;
    return number;
  }

  static std::mutex& making() {
    static std::mutex one;
    return one;
  }

  // While a process forks nobody else makes pools: a child would wait for ever for a thread that it does not have.
  static bool guard_forks() {
#if !defined(_WIN32)
    pthread_atfork([] { making().lock(); }, [] { making().unlock(); }, [] { making().unlock(); });
#endif
    return true;
  }

  // Pools are never destroyed: their threads end with the process. A process that was forked has none of its parent's
  // threads, and makes pools of its own.
  static Pool& numbered(long number) {
    static const bool guarded = guard_forks();
    static std::map<long, Pool*> pools;
    static long owner = 0;
    (void)guarded;
    const std::lock_guard<std::mutex> hold(making());
    if (owner != process()) {
      pools.clear();
      owner = process();
    }
    Pool*& pool = pools[number];
    if (!pool) pool = new Pool;
    return *pool;
  }

  static long process() {
#if defined(_WIN32)
    return 1;
#else
    return static_cast<long>(getpid());
#endif
  }

  static void pause() {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
    __builtin_ia32_pause();
#endif
  }

  template <typename Condition>
  static bool awake_until(const Condition& condition) {
    for (int look = 0; look < kLooks; ++look) {
      if (condition()) return true;
      pause();
    }
    return false;
  }

  void take(const std::function<void(long)>& work, long parts) {
    for (long number = next_++; number < parts; number = next_++) {
      try {
        work(number);
      } catch (...) {
        const std::lock_guard<std::mutex> hold(state_);
        thrown_ = std::current_exception();
      }
    }
  }

  void serve() {
    unsigned long seen = 0;
    for (;;) {
      awake_until([&] { return job_.load() != seen; });
      std::unique_lock<std::mutex> hold(state_);
      ++asleep_;
      wake_.wait(hold, [&] { return job_.load() != seen; });
      --asleep_;
      seen = job_.load();
      if (!work_) continue;
      const std::function<void(long)>& work = *work_;
      const long parts = parts_;
      ++busy_;
      hold.unlock();
      take(work, parts);
      hold.lock();
      if (--busy_ == 0) finished_.notify_one();
    }
  }

  std::mutex turn_, state_;
  std::condition_variable wake_, finished_;
  const std::function<void(long)>* work_ = nullptr;  // while a job is not done
  std::exception_ptr thrown_;
  long parts_ = 0;
  std::atomic<long> next_{0};
  std::atomic<unsigned long> job_{0};
  std::atomic<long> busy_{0};    // threads that are at it
  std::atomic<long> asleep_{0};  // threads that must be woken
  long size_ = 0;
};
