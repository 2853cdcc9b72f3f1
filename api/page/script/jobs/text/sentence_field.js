// One sentence of the text as a field in its own place: what is written there is what it says from then on.

const ATTRIBUTES = { contenteditable: "plaintext-only", role: "textbox", "aria-label": "What the sentence says" };

/**
 * `onKeep(place, text)` changes the sentence and returns whether the server accepts it. `onOpen(isOpen)`: of the field.
 * `onClosed(index, next)`: `next` is the sentence to change next, -1 for the passage, undefined for none.
 */
export class SentenceField {
  #on;
  #place = null;
  #was = "";
  #isSending = false;
  #drafts = new Map();
  element = null;

  constructor(on) {
    this.#on = on;
  }

  /** Of the passage; null while no sentence is changed. */
  get index() {
    return this.#place?.index ?? null;
  }

  /** `place`: `{index, number, id}`. `point`: where in the window the caret is wanted. */
  open(element, place, point) {
    [this.element, this.#place, this.#was] = [element, place, words(element)];
    if (this.#drafts.has(place.id)) element.textContent = this.#drafts.get(place.id);
    for (const [name, value] of Object.entries(ATTRIBUTES)) element.setAttribute(name, value);
    element.addEventListener("keydown", this.#keydown);
    element.focus({ preventScroll: true });
    putCaret(element, point);
    this.#on.onOpen(true);
  }

  /** Back to the old text; `keepsDraft` keeps the new one for the next change. Returns whether it is closed. */
  leave(next, keepsDraft = false) {
    if (this.#isSending) return false;
    if (!this.element) return true;
    const text = words(this.element);
    if (keepsDraft && text !== this.#was) this.#drafts.set(this.#place.id, text);
    else this.#drafts.delete(this.#place.id);
    this.#close(next);
    return true;
  }

  /** `text`: "" deletes the sentence. */
  keep = async (text = this.element && words(this.element)) => {
    if (!this.element || this.#isSending) return;
    if (text === this.#was) {
      this.leave(-1);
      return;
    }
    this.#isSending = true;
    const isTaken = await this.#on.onKeep(this.#place, text).finally(() => {
      this.#isSending = false;
    });
    if (!isTaken) return;
    this.#drafts.delete(this.#place.id);
    // Only a writer who is still there is led back to the passage.
    this.#close(this.element.contains(document.activeElement) ? -1 : undefined);
  };

  #close(next) {
    const { index } = this.#place;
    for (const name of Object.keys(ATTRIBUTES)) this.element.removeAttribute(name);
    this.element.removeEventListener("keydown", this.#keydown);
    [this.element, this.#place] = [null, null];
    this.#on.onOpen(false);
    this.#on.onClosed(index, next);
  }

  #keydown = (event) => {
    event.stopPropagation();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") {
      this.leave(-1);
    } else if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      this.keep();
    } else if (step && words(this.element) === this.#was && this.#place.number + step >= 0) {
      event.preventDefault();
      this.leave(this.#place.number + step);
    }
  };
}

/** A line break within a sentence is a space to who hears it. */
const words = (element) => element.innerText.replace(/\s+/g, " ").trim();

function putCaret(element, point) {
  const found = point && document.caretPositionFromPoint?.(point.x, point.y);
  const selection = getSelection();
  if (found && element.contains(found.offsetNode)) {
    selection.collapse(found.offsetNode, found.offset);
  } else {
    selection.selectAllChildren(element);
    selection.collapseToEnd();
  }
}
