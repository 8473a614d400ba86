/** The script of every page of the console: shows and takes times in the zone of the browser. Without it they are UTC. */
export const TIME_SCRIPT = `"use strict";
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const pad = (number) => String(number).padStart(2, "0");

function showLocal(element) {
  const date = new Date(element.dateTime);
  if (Number.isNaN(date.getTime()) || element.title !== "") return;
  element.title = date.toISOString().slice(0, 19).replace("T", " ") + " UTC";
  const day = date.getFullYear() + "-" + pad(date.getMonth() + 1) + "-" + pad(date.getDate());
  const time = pad(date.getHours()) + ":" + pad(date.getMinutes());
  if (element.dataset.time === "row") {
    const month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][date.getMonth()];
    element.textContent = date.getDate() + " " + month + " " + time + ":" + pad(date.getSeconds());
  } else element.textContent = day + " " + time + (element.dataset.time === "second" ? ":" + pad(date.getSeconds()) : "");
}

/** Fields of times show and take local times. Addresses have UTC, so that they mean the same everywhere. */
function useLocal(input) {
  const date = new Date(input.value + "Z");
  if (!Number.isNaN(date.getTime())) {
    const local = new Date(date.getTime() - date.getTimezoneOffset() * 60000);
    input.value = local.toISOString().slice(0, 16);
  }
  input.form.addEventListener("formdata", ({ formData }) => {
    if (input.value) formData.set(input.name, new Date(input.value).toISOString());
  });
}

// Without a zone of its own there is nothing to convert.
if (zone && zone !== "UTC") {
  document.querySelectorAll("time[data-time]").forEach(showLocal);
  document.getElementById("zone").textContent = "Times in " + zone + ". Hover for UTC.";
  for (const name of document.querySelectorAll("[data-zone]")) name.textContent = zone;
  document.querySelectorAll("input[data-utc]").forEach(useLocal);
  document.addEventListener("console:rows", (event) => event.target.querySelectorAll("time[data-time]").forEach(showLocal));
}
`;
