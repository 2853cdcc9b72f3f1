// A job's events (SSE), read with fetch: an EventSource can send no API key.

import { request } from "./api.js";

const LONGEST_PAUSE_MS = 10_000;

/**
 * Calls `onEvent(event, id)` for everything that happens to the job after the event `lastId` ("": from its beginning)
 * until it has ended, over as many connections as it takes. Ends quietly when `signal` is aborted; throws the `Problem`
 * that the job is not there.
 */
export async function follow(jobId, onEvent, signal, lastId = "") {
  let pauseMs = 500;
  for (;;) {
    try {
      const headers = { Accept: "text/event-stream", ...(lastId ? { "Last-Event-ID": lastId } : {}) };
      const answer = await request("GET", `v1/jobs/${jobId}/events`, { headers, signal });
      for await (const message of messages(answer.body)) {
        lastId = message.id || lastId;
        pauseMs = 500;
        onEvent(JSON.parse(message.data), lastId);
      }
      // The server closes the stream of a job that has ended, and of none else unless it stops itself.
      if (!signal.aborted && (await hasEnded(jobId, signal))) return;
    } catch (error) {
      if (signal.aborted) return;
      if (error.status && error.status < 500) throw error;
    }
    if (signal.aborted) return;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
  }
}

async function hasEnded(jobId, signal) {
  const job = await (await request("GET", `v1/jobs/${jobId}`, { signal })).json();
  return job.finished_at !== null;
}

/** The messages of a stream of bytes, by the rules of the HTML standard as far as this server uses them. */
async function* messages(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const message = parsed(block);
      if (message.data) yield message;
    }
  }
}

function parsed(block) {
  const message = { id: "", data: "" };
  for (const line of block.split("\n")) {
    const [, name, value] = /^([a-z]*):? ?(.*)$/.exec(line) || [];
    if (name === "id") message.id = value;
    if (name === "data") message.data += message.data ? `\n${value}` : value;
  }
  return message;
}
