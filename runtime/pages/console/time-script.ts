/** The script of every page of the console: shows times in the reader's zone. Without it they are UTC. */
export const TIME_SCRIPT = `"use strict";
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const pad = (number) => String(number).padStart(2, "0");

function showLocal(element) {
  const date = new Date(element.dateTime);
  if (Number.isNaN(date.getTime()) || element.title !== "") return;
  element.title = element.textContent;
  const day = date.getFullYear() + "-" + pad(date.getMonth() + 1) + "-" + pad(date.getDate());
  const time = pad(date.getHours()) + ":" + pad(date.getMinutes());
  element.textContent = day + " " + time + (element.dataset.time === "second" ? ":" + pad(date.getSeconds()) : "");
}

// Without a zone of its own there is nothing to convert.
if (zone && zone !== "UTC") {
  document.querySelectorAll("time[data-time]").forEach(showLocal);
  document.getElementById("zone").textContent = "Times in " + zone + ". Hover for UTC.";
  document.addEventListener("console:rows", (event) => event.target.querySelectorAll("time[data-time]").forEach(showLocal));
}
`;
