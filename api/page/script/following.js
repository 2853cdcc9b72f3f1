// A job's events (SSE), read with fetch: an EventSource can send no API key.

import { getJson, request } from "./api.js";

const LONGEST_PAUSE_MS = 10_000;

/**
 * Calls `onEvent(event, id)` for each event of the job after `lastId` ("": for all) until the job ends. Reconnects as
 * often as needed. Returns when `signal` is aborted. Throws a `Problem` if there is no such job.
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
      // The server closes the stream when the job ends, and when the server stops.
      if (!signal.aborted && (await getJson(`v1/jobs/${jobId}`, { signal })).finished_at !== null) return;
    } catch (error) {
      if (signal.aborted) return;
      if (error.status && error.status < 500) throw error;
    }
    if (signal.aborted) return;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
  }
}

/** Messages of a byte stream, by the part of the HTML standard that this server uses. */
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
