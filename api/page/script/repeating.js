// Work that is done again and again while somebody looks.

/**
 * Runs `task(signal)` at once and again `pauseS()` seconds after each end, but not while the page is hidden.
 * Returns `now()`, to do it as soon as possible, and `stop()`. A task that throws is done again later.
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
    try {
      await task(abort.signal);
    } catch (error) {
      if (error.name !== "AbortError" && error.name !== "Problem") throw error;
    } finally {
      isRunning = false;
      if (!abort.signal.aborted && !document.hidden) timer = setTimeout(run, isWanted ? 0 : pauseS() * 1000);
    }
  }

  function onVisibility() {
    if (document.hidden) clearTimeout(timer);
    else run();
  }

  document.addEventListener("visibilitychange", onVisibility);
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
