/**
 * The worker that all windows of one browser share: it opens one stream of new decisions for all of them, since over HTTP/1.1 a browser
 * has six connections to a host. Each window says what it shows, and gets the events for that.
 */
export const LIVE_WORKER = `"use strict";
const MAX_WINDOWS = 8;
/** Port of each window, oldest first, with the query of its list and the ID of its newest row. */
const windows = new Map();
let source;
let timer;

function send(event, data, ports = [...windows.keys()]) {
  for (const port of ports) port.postMessage({ event, data });
}

function reopen() {
  clearTimeout(timer);
  // Windows that open together get one stream.
  timer = setTimeout(open, 20);
}

function open() {
  if (source) source.close();
  source = undefined;
  if (windows.size === 0) return;
  const shown = [...windows].map(([port, each]) => ({ port, each }));
  const queries = shown.map(({ each: { query, after } }) => {
    const parameters = new URLSearchParams(query);
    if (after) parameters.set("after", after);
    return parameters.toString();
  });
  const address = new URL("../decisions/stream", location.href);
  address.searchParams.set("windows", JSON.stringify(queries));
  const opened = (source = new EventSource(address));
  const of = (data) => shown.filter(({ port }, index) => index === data.of && windows.has(port));
  opened.addEventListener("open", () => send("open"));
  opened.addEventListener("row", (event) => {
    const data = JSON.parse(event.data);
    for (const { port, each } of of(data)) {
      each.after = data.id;
      send("row", data, [port]);
    }
  });
  opened.addEventListener("note", (event) => {
    const data = JSON.parse(event.data);
    send("note", data, of(data).map(({ port }) => port));
  });
  for (const event of ["replaced", "ended"])
    opened.addEventListener(event, () => {
      opened.close();
      send(event);
      windows.clear();
    });
  opened.addEventListener("error", () => {
    const isOver = opened.readyState === EventSource.CLOSED;
    send(isOver ? "stopped" : "lost");
    if (isOver) windows.clear();
  });
}

addEventListener("connect", ({ ports: [port] }) => {
  port.addEventListener("message", ({ data: { query, after } }) => {
    windows.delete(port);
    if (query !== undefined) windows.set(port, { query, after });
    const [oldest] = windows.keys();
    if (windows.size > MAX_WINDOWS) {
      send("replaced", undefined, [oldest]);
      windows.delete(oldest);
    }
    reopen();
  });
  port.start();
});
`;
