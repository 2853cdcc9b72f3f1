// Reloads the page, at most three times, if one of its files did not load. A network change breaks requests, and a script
// without its imports never runs. This file is no module, so it needs no import.

addEventListener("error", ({ target }) => {
  if (!(target instanceof HTMLScriptElement || target instanceof HTMLLinkElement)) return;
  const times = Number(sessionStorage.getItem("rhapsode.reloads"));
  if (times >= 3 || document.documentElement.dataset.reloading) return;
  document.documentElement.dataset.reloading = "yes";
  sessionStorage.setItem("rhapsode.reloads", times + 1);
  // A preload may fail while the file itself loads. A page that works is not reloaded.
  setTimeout(() => {
    if (!document.documentElement.dataset.ready) {
      location.reload();
      return;
    }
    delete document.documentElement.dataset.reloading;
    sessionStorage.removeItem("rhapsode.reloads");
  }, 300 * 2 ** times);
}, true);
