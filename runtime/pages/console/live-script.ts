/**
 * The script of the list of decisions: new rows appear automatically, unless the user is working in the list.
 *
 * The server sends finished rows with the markup of the page. Nothing in them becomes script. `live-worker.ts` has the stream.
 */
export const LIVE_SCRIPT = `"use strict";
const MAX_ROWS = 500;
const SAY_EVERY_MS = 10000;
const bar = document.getElementById("live");
const pauseButton = document.getElementById("live-pause");
const newButton = document.getElementById("live-new");
const state = document.getElementById("live-state");
const held = [];
let tooMany = 0;
let lastId = new URL(bar.dataset.stream, location.href).searchParams.get("after") ?? "";
/** Ends the stream of this window. */
let disconnect;
let saidAt = 0;
let noteEnds;
/** Without a session, another stream is also rejected. */
let hasEnded = false;
const OVER = {
  stopped: "Live updates stopped. Reload the page.",
  replaced: "Live updates moved to a newer window. Click here to show them in this one.",
  ended: "Live updates stopped: your session or your role has ended. Reload the page to sign in.",
};
const bodyOf = (group) =>
  document.querySelector("#decisions-" + group + " tbody") ?? document.querySelector("#decisions-all tbody");
const timeOf = (row) => row.querySelector("time").dateTime;
const isPaused = () => pauseButton.getAttribute("aria-pressed") === "true";

function isBusy() {
  const rows = document.querySelectorAll(".fold");
  const isFocused = [...rows].some((each) => each.contains(document.activeElement));
  const selection = getSelection();
  return isFocused || (selection && !selection.isCollapsed) || scrollY > 200;
}

/** Announced at most every ten seconds, visible immediately. */
function say(text, isUrgent) {

  const now = Date.now();
  state.setAttribute("aria-live", isUrgent || now - saidAt >= SAY_EVERY_MS ? "polite" : "off");
  if (isUrgent || now - saidAt >= SAY_EVERY_MS) saidAt = now;
  state.textContent = text;
}

function sayUsual(isUrgent) {
  clearTimeout(noteEnds);
  say(isPaused() ? "Paused." : "Live.", isUrgent);
}

function show({ id, group, html }) {
  const body = bodyOf(group);
  if (!body) return location.reload();
  const template = document.createElement("template");
  template.innerHTML = html;
  const row = template.content.querySelector("tr");
  const known = document.querySelector('tr[data-id="' + CSS.escape(id) + '"]');
  if (known) known.replaceWith(row);
  else {
    row.classList.add("new");
    // Some records arrive late.
    const older = [...body.rows].find((each) => timeOf(each) <= timeOf(row));
    body.insertBefore(row, older ?? null);
  }
  row.dispatchEvent(new CustomEvent("console:rows", { bubbles: true }));
  while (body.rows.length > MAX_ROWS) body.lastElementChild.remove();
}

function hold(entry) {
  const at = held.findIndex(({ id }) => id === entry.id);
  if (at !== -1) held[at] = entry;
  else if (held.length < MAX_ROWS) held.push(entry);
  else tooMany += 1;
}

/** False for a row that is there already, and only gets its result. */
function isNew({ id }) {
  return !document.querySelector('tr[data-id="' + CSS.escape(id) + '"]');
}

function showHeld() {
  const count = held.filter(isNew).length;
  newButton.hidden = count === 0;
  newButton.textContent = tooMany > 0 ? count + " new, " + tooMany + " more: reload" : count + " new";
}

function release() {
  if (tooMany > 0) return location.reload();
  held.splice(0).forEach(show);
  showHeld();
}

function take(entry) {
  if (isPaused() || isBusy() || (held.length > 0 && isNew(entry))) hold(entry);
  else show(entry);
}

/** Opens the stream: one for all windows, if the browser has shared workers. */
function connect() {
  const { pathname, searchParams } = new URL(bar.dataset.stream, location.href);
  searchParams.delete("after");
  if (typeof SharedWorker === "function") {
    const { port } = new SharedWorker(bar.dataset.worker);
    port.addEventListener("message", ({ data: { event, data } }) => heard(event, data));
    port.start();
    port.postMessage({ query: searchParams.toString(), after: lastId });
    return () => port.postMessage({});
  }
  if (lastId) searchParams.set("after", lastId);
  const source = new EventSource(pathname + "?" + searchParams.toString());
  for (const event of ["open", "row", "note", "replaced", "ended"])
    source.addEventListener(event, ({ data }) => heard(event, data && JSON.parse(data)));
  source.addEventListener("error", () => heard(source.readyState === EventSource.CLOSED ? "stopped" : "lost"));
  return () => source.close();
}

function heard(event, data) {
  if (!disconnect) return;
  if (event === "open") sayUsual(true);
  if (event === "row") {
    lastId = data.id;
    take(data);
    showHeld();
  }
  if (event === "note") {
    say(data.text, false);
    clearTimeout(noteEnds);
    noteEnds = setTimeout(sayUsual, SAY_EVERY_MS, false);
  }
  if (event === "lost") {
    clearTimeout(noteEnds);
    say("Reconnecting\\u2026", true);
  }
  if (OVER[event]) {
    clearTimeout(noteEnds);
    close();
    hasEnded = event === "ended";
    say(OVER[event], true);
  }
}

function open() {
  if (!disconnect && !hasEnded && !document.hidden) disconnect = connect();
}

/** A window that is not visible needs no connection. */
function close() {
  disconnect?.();
  disconnect = undefined;
}

pauseButton.addEventListener("click", () => {
  const paused = !isPaused();
  pauseButton.setAttribute("aria-pressed", String(paused));
  sayUsual(true);
  if (!paused) release();
});
newButton.addEventListener("click", () => {
  release();
  // The button that had the focus is gone.
  pauseButton.focus();
});
document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
addEventListener("pagehide", close);
for (const event of ["pageshow", "focus", "pointerdown", "keydown"]) addEventListener(event, open);
bar.hidden = false;
open();
`;
