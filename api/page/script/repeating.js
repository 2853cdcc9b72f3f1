// Work repeated while the page is visible.

const AFTER_FAILURE_S = 2;

/**
 * Runs `task(signal)` now and `pauseS()` seconds after each end, but not while the page is hidden. Returns `now()`, which
 * runs it as soon as possible, and `stop()`. It retries soon after a failure and when the browser is online again.
 */
export function repeat(task, pauseS) {
  const abort = new AbortController();
  let timer = null;
  let isRunning = false;
  let isWanted = false;

  async function run() {
    if (isRunning || abort.signal.aborted) {
      isWanted = true;
      return;
    }
    clearTimeout(timer);
    isRunning = true;
    isWanted = false;
    let hasFailed = false;
    try {
      await task(abort.signal);
    } catch (error) {
      if (error.name !== "AbortError" && error.name !== "Problem") throw error;
      hasFailed = true;
    } finally {
      isRunning = false;
      const nextS = hasFailed ? Math.min(AFTER_FAILURE_S, pauseS()) : pauseS();
      if (!abort.signal.aborted && !document.hidden) timer = setTimeout(run, isWanted ? 0 : nextS * 1000);
    }
  }

  function onVisibility() {
    if (document.hidden) clearTimeout(timer);
    else run();
  }

  document.addEventListener("visibilitychange", onVisibility, { signal: abort.signal });
  addEventListener("online", run, { signal: abort.signal });
  run();
  return {
    now: run,
    stop() {
      clearTimeout(timer);
      abort.abort();
    },
  };
}

/** Calls `action` at most once in `milliseconds`. Calls in between cause one call at the end. */
export function throttled(action, milliseconds) {
  let timer = null;
  let isDue = false;
  return function call() {
    if (timer !== null) {
      isDue = true;
      return;
    }
    action();
    timer = setTimeout(() => {
      timer = null;
      if (isDue) {
        isDue = false;
        call();
      }
    }, milliseconds);
  };
}
