// The keys of a keyboard's media row, a headset's button, and what a locked screen shows.

const session = navigator.mediaSession ?? null;

/** What the keys do, by the names of the Media Session standard; null for those that do nothing. */
export function takeMediaKeys(actions) {
  if (!session) return;
  for (const [name, action] of Object.entries(actions)) {
    try {
      session.setActionHandler(name, action);
    } catch (error) {
      // A browser that does not know an action throws; its other keys work all the same.
      if (error.name !== "TypeError") throw error;
    }
  }
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
