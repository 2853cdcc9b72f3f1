// Work that is done again and again while somebody looks.

const AFTER_FAILURE_S = 2;

/**
 * Runs `task(signal)` at once and again `pauseS()` seconds after each end, but not while the page is hidden.
 * Returns `now()`, to do it as soon as possible, and `stop()`. A task that fails is soon done again, and so is everything
 * once the browser is connected again.
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

  document.addEventListener("visibilitychange", onVisibility);
  addEventListener("online", run, { signal: abort.signal });
  run();
  return {
    now: run,
    stop() {
      clearTimeout(timer);
      abort.abort();
      document.removeEventListener("visibilitychange", onVisibility);
    },
  };
}

/** `action`, at most once in `milliseconds`; calls in between are made up for by one at the end. */
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
