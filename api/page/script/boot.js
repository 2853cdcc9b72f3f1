// Loads the page again where a file of it did not come: a network that changes breaks off whatever is on its way, and
// scripts that miss one of them never run. Not a module, so that it needs none. Thrice; then the page says what it lacks.

addEventListener("error", ({ target }) => {
  if (!(target instanceof HTMLScriptElement || target instanceof HTMLLinkElement)) return;
  const times = Number(sessionStorage.getItem("rhapsode.reloads"));
  if (times >= 3 || document.documentElement.dataset.reloading) return;
  document.documentElement.dataset.reloading = "yes";
  sessionStorage.setItem("rhapsode.reloads", times + 1);
  // What was only to be fetched ahead may have come by another way: a page that works is left alone.
  setTimeout(() => {
    if (!document.documentElement.dataset.ready) {
      location.reload();
      return;
    }
    delete document.documentElement.dataset.reloading;
    sessionStorage.removeItem("rhapsode.reloads");
  }, 300 * 2 ** times);
}, true);
