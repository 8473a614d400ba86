/**
 * The script of the list of decisions: new rows appear by themselves, unless the reader is at work there.
 *
 * The server sends finished rows of the same markup that the page has; nothing of them becomes script.
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
let source;
let saidAt = 0;
let noteEnds;
// Of HTTP/1.1 a browser opens six connections to a host: two are left for pages. Streams of processes and browsers have no other
// bound in common. This is also the order of the windows: the newest have streams.
const MAX_WINDOWS = performance.getEntriesByType("navigation")[0]?.nextHopProtocol === "h2" ? 6 : 4;
const windows = new BroadcastChannel("decisions");
const newer = new Set();
let openedAt;

const bodyOf = (group) =>
  document.querySelector("#decisions-" + group + " tbody") ?? document.querySelector("#decisions-all tbody");
const timeOf = (row) => row.querySelector("time").dateTime;
const isPaused = () => pauseButton.getAttribute("aria-pressed") === "true";

function isBusy() {
  const rows = document.querySelectorAll(".scroll");
  const isFocused = [...rows].some((each) => each.contains(document.activeElement));
  const selection = getSelection();
  return isFocused || (selection && !selection.isCollapsed) || scrollY > 200;
}

/** Spoken at most every ten seconds; seen at once. */
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
    // Some come late.
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

/** Of rows that are there already no button speaks: they only learn how they ended. */
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

function open() {
  if (source || document.hidden) return;
  const address = new URL(bar.dataset.stream, location.href);
  if (lastId) address.searchParams.set("after", lastId);
  newer.clear();
  openedAt = Date.now() + Math.random();
  windows.postMessage({ opened: openedAt });
  source = new EventSource(address);
  source.addEventListener("open", () => sayUsual(true));
  source.addEventListener("replaced", stepBack);
  source.addEventListener("row", (event) => {
    if (event.lastEventId) lastId = event.lastEventId;
    take(JSON.parse(event.data));
    showHeld();
  });
  source.addEventListener("note", (event) => {
    say(JSON.parse(event.data), false);
    clearTimeout(noteEnds);
    noteEnds = setTimeout(sayUsual, SAY_EVERY_MS, false);
  });
  source.addEventListener("error", () => {
    clearTimeout(noteEnds);
    const isOver = source.readyState === EventSource.CLOSED;
    say(isOver ? "Live updates stopped. Reload the page." : "Reconnecting\\u2026", true);
    if (isOver) close();
  });
}

function close() {
  if (!source) return;
  source.close();
  source = undefined;
  windows.postMessage({ closed: openedAt });
}

function stepBack() {
  close();
  clearTimeout(noteEnds);
  say("Live updates moved to a newer window. Click here to show them in this one.", true);
}

windows.addEventListener("message", ({ data: { opened, closed } }) => {
  newer.delete(closed);
  if (opened > openedAt) newer.add(opened);
  if (source && newer.size >= MAX_WINDOWS) stepBack();
});

pauseButton.addEventListener("click", () => {
  const paused = !isPaused();
  pauseButton.setAttribute("aria-pressed", String(paused));
  sayUsual(true);
  if (!paused) release();
});
newButton.addEventListener("click", () => {
  release();
  // What had the focus is gone; the first control is where it was.
  pauseButton.focus();
});
document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
addEventListener("pagehide", close);
for (const event of ["pageshow", "focus", "pointerdown", "keydown"]) addEventListener(event, open);
bar.hidden = false;
open();
`;
