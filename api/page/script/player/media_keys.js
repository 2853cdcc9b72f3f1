// Media keys, headset buttons and lock screens.

const session = navigator.mediaSession ?? null;

/** Actions by their names in the Media Session standard. */
export function takeMediaKeys(actions) {
  for (const [name, action] of Object.entries(actions)) session?.setActionHandler(name, action);
}

export function showOnKeys({ title, line, isPaused, position, duration, rate }) {
  if (!session) return;
  if (session.metadata?.title !== title || session.metadata?.artist !== line) {
    session.metadata = new MediaMetadata({ title, artist: line, album: "Rhapsode" });
  }
  session.playbackState = isPaused ? "paused" : "playing";
  if (duration > 0) session.setPositionState({ duration, playbackRate: rate, position: Math.min(position, duration) });
}

export function clearKeys() {
  if (!session) return;
  session.metadata = null;
  session.playbackState = "none";
}
