// Requests to /v1, relative to the page's own address.

const ROOT = new URL("../../../", import.meta.url);
const REPEAT_MS = 300;
const IN_PROGRESS = "idempotency_in_progress";
const MOST_LOOKS = 60;
const KEY_NAME = "rhapsode.key";

/** Events: "unauthorized" if a key is needed; "reached" or "unreached" after each request. */
export const signals = new EventTarget();

/** An answer of 400 and above (RFC 9457), or no answer at all (`status` 0). */
export class Problem extends Error {
  constructor(status, document) {
    super(document.detail || document.title || `The server answered ${status}.`);
    this.name = "Problem";
    this.status = status;
    this.code = document.code || "";
    this.errors = document.errors || [];
    this.requestId = document.request_id || null;
  }
}

/** Does `action`. Returns its result, or gives its `Problem` to `tell`. Nothing follows an abort. */
export async function attempt(action, tell) {
  try {
    return await action();
  } catch (error) {
    if (error.name === "Problem") return tell(error);
    if (error.name !== "AbortError") throw error;
  }
}

export const key = {
  get: () => sessionStorage.getItem(KEY_NAME) || "",
  set: (value) => (value ? sessionStorage.setItem(KEY_NAME, value) : sessionStorage.removeItem(KEY_NAME)),
};

/**
 * The answer to a request, whose status is below 400. Throws a `Problem`; an `AbortError` when `signal` says so.
 * `isKeyed` false: a repeat is a new request, as for live speech.
 */
export async function request(method, path, { json, body, headers = {}, signal, isKeyed = true } = {}) {
  const sent = { ...headers };
  const used = key.get();
  if (used) sent.Authorization = `Bearer ${used}`;
  if (json !== undefined) sent["Content-Type"] = "application/json";
  // A repeat gets the result of the first request, if that reached the server.
  if (method === "POST" && isKeyed && !(body instanceof FormData)) sent["Idempotency-Key"] ??= randomToken();
  const content = json === undefined ? body : JSON.stringify(json);
  for (let looks = 1; ; looks += 1) {
    const answer = await reach(new URL(path, ROOT), { method, headers: sent, body: content, signal, cache: "no-store" });
    signals.dispatchEvent(new Event("reached"));
    if (answer.ok) return answer;
    const problem = new Problem(answer.status, await problemDocument(answer));
    // A refusal of a key that was replaced meanwhile does not matter.
    if (answer.status === 401 && used === key.get()) signals.dispatchEvent(new Event("unauthorized"));
    if (problem.code !== IN_PROGRESS || looks === MOST_LOOKS) throw problem;
    // The first request still runs. Wait for its answer.
    await pause((Number(answer.headers.get("Retry-After")) || 1) * 1000, signal);
  }
}

/** Retries once after a broken connection: networks change and servers restart. */
async function reach(address, options) {
  for (let isRepeat = false; ; isRepeat = true) {
    try {
      return await fetch(address, options);
    } catch (error) {
      if (error.name === "AbortError") throw error;
      // A form differs each time it is encoded, so the server could not recognise the repeat.
      if (isRepeat || options.body instanceof FormData) {
        signals.dispatchEvent(new Event("unreached"));
        throw new Problem(0, { detail: "The server does not answer." });
      }
    }
    await pause(REPEAT_MS, options.signal);
  }
}

/** Throws the `AbortError` of `signal` as soon as it is aborted. */
async function pause(milliseconds, signal) {
  await new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", resolve, { once: true });
  });
  signal?.throwIfAborted();
}

/** A WebSocket of this protocol. Browsers set no headers there, so the key is sent as a second protocol. */
export function openSocket(path, protocol) {
  const address = new URL(path, ROOT);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  const bytes = String.fromCharCode(...new TextEncoder().encode(key.get()));
  const coded = btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return new WebSocket(address, key.get() ? [protocol, `rhapsode.key.${coded}`] : [protocol]);
}

export async function getJson(path, options = {}) {
  return (await request("GET", path, options)).json();
}

export async function sendJson(method, path, json, options = {}) {
  const answer = await request(method, path, { json, ...options });
  return answer.status === 204 ? null : answer.json();
}

/** Every entry of a paged list, page by page. `options.next`: the limit behind the first page. */
export async function* pages(path, parameters, options = {}) {
  const query = new URLSearchParams(parameters);
  for (;;) {
    const page = await getJson(`${path}?${query}`, options);
    yield page.data;
    if (!page.has_more) return;
    query.set("cursor", page.next_cursor);
    if (options.next) query.set("limit", options.next);
  }
}

/** 32 random hexadecimal digits. Browsers have no `crypto.randomUUID` on plain http. */
export function randomToken() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function problemDocument(answer) {
  const isJson = (answer.headers.get("content-type") || "").includes("json");
  try {
    const document = isJson ? await answer.json() : {};
    // The /v1/audio family answers in another shape.
    return document.error ? { ...document.error, detail: document.error.message } : document;
  } catch {
    return { detail: `The server answered ${answer.status} and closed the connection.` };
  }
}
