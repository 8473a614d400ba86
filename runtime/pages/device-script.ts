/**
 * The only script of our pages: it lets the browser ask a device, and sends the answer with the form on the page.
 * It runs as a file of its own, allowed by its whole address; nothing of the page's text becomes script.
 */
export const DEVICE_SCRIPT = `"use strict";
const outcome = document.getElementById("outcome");
const buttons = document.querySelectorAll("form[data-ceremony] button");
const setBusy = (busy) => buttons.forEach((button) => (button.disabled = busy));
const texts = {
  NotAllowedError: "Nothing was done. You cancelled, it took too long, or there is no such device here.",
  InvalidStateError: "This device is already registered.",
  NotSupportedError: "This device cannot be registered.",
  SecurityError: "The browser does not allow devices on the address of this page.",
};

async function run(form) {
  const { ceremony, options } = form.dataset;
  const parse = ceremony === "create" ? "parseCreationOptionsFromJSON" : "parseRequestOptionsFromJSON";
  if (!window.PublicKeyCredential?.[parse]) throw new Error("This browser is too old to register devices.");
  const publicKey = PublicKeyCredential[parse](JSON.parse(options));
  const credential = await navigator.credentials[ceremony]({ publicKey });
  form.elements.answer.value = JSON.stringify(credential);
  form.submit();
}

for (const form of document.querySelectorAll("form[data-ceremony]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    setBusy(true);
    outcome.textContent = "Waiting for your device\\u2026";
    try {
      await run(form);
    } catch (error) {
      setBusy(false);
      outcome.textContent = texts[error.name] ?? (error.name === "Error" ? error.message : "That did not work.");
    }
  });
}
`;
