// Asks for the newest narrations while the scripts load. A failure is null: the list asks again, and shows it.

if (/^(#\/?|#\/jobs\/.*)?$/.test(location.hash)) {
  const key = sessionStorage.getItem("rhapsode.key");
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  window.newest = fetch("v1/jobs?limit=30", { cache: "no-store", headers })
    .then((answer) => (answer.ok ? answer.json() : null))
    .catch(() => null);
}

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
