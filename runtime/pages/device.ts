/** Pages of registered devices: registering and verifying one. */
import { html, type Html } from "./html.ts";
import { drawnIcon } from "./icons.ts";
import { mark, page, type Page } from "./layout.ts";

/** One WebAuthn ceremony; the script of device-script.ts runs it and sends the form. */
export interface CeremonyParts {
  readonly kind: "create" | "get";
  /** For `PublicKeyCredential.parse…OptionsFromJSON`. */
  readonly options: object;
  readonly action: string;
  readonly csrfToken: string;
  /** Sealed challenge. */
  readonly ticket: string;
  /** Sealed return address; absent when the user only registers a device. */
  readonly request: string | undefined;
}

export interface DevicePageParts {
  readonly user: string;
  /** The address that asks for a device. */
  readonly address: string | undefined;
  readonly scriptPath: string;
  /** Absent without a device that can be verified. */
  readonly prove: CeremonyParts | undefined;
  readonly registerBuiltIn: CeremonyParts | undefined;
  readonly registerOther: CeremonyParts | undefined;
  /** No more devices can be registered. */
  readonly isFull: boolean;
}

export const MAX_NAME_CHARACTERS = 64;

export function devicePage(parts: DevicePageParts): Page {
  const { user, address, prove, registerBuiltIn, registerOther, isFull } = parts;
  return page({
    title: address === undefined ? "Register a device" : "Verify your device",
    mark: mark("info", "browser"),
    body: html`${
        address === undefined
          ? html`<p>
              You are signed in as <strong>${user}</strong>. Some addresses open only with a device that you have
              registered.
            </p>`
          : html`<p>
              You are signed in as <strong>${user}</strong>. <code>${address}</code> opens only with a device that you
              have registered.
            </p>`
      }
      <noscript>
        <div class="note">
          ${drawnIcon("warning")}
          <p>This page needs JavaScript to talk to your device. Please allow it.</p>
        </div>
      </noscript>
      <p id="outcome" role="status"></p>
      ${
        prove &&
        html`<section aria-labelledby="prove">
          <h2 id="prove">A device that you have registered</h2>
          ${ceremony(prove, html`<button class="primary" type="submit">Use a registered device</button>`)}
        </section>`
      }
      ${
        registerBuiltIn &&
        html`<section aria-labelledby="built-in">
          <h2 id="built-in">This device</h2>
          <p class="dim">You confirm with fingerprint, face or PIN. The key stays on this device.</p>
          ${ceremony(registerBuiltIn, html`${nameField("built-in-name")}<button class="${prove === undefined ? "primary" : ""}" type="submit">Register this device</button>`)}
        </section>`
      }
      ${
        registerOther &&
        html`<section aria-labelledby="other">
          <h2 id="other">Another device</h2>
          <p class="dim">A security key, a phone, or a passkey of your account.</p>
          ${ceremony(registerOther, html`${nameField("other-name")}<button class="${(prove ?? registerBuiltIn) === undefined ? "primary" : ""}" type="submit">Register another device</button>`)}
        </section>`
      }
      ${isFull && html`<p>You have reached the limit of registered devices. Remove one to register another.</p>`}
      <script src="${parts.scriptPath}" defer></script>
      <p class="link"><a href="/.gateway/">View your devices</a></p>`,
  });
}

/** `/.gateway/device-enrolled` */
export function deviceEnrolledPage(parts: {
  readonly id: string;
  readonly name: string;
  readonly isApproved: boolean;
}): Page {
  return page({
    title: "Device registered",
    mark: mark("good", "check"),
    body: html`<dl>
        <dt>Name</dt>
        <dd>${parts.name}</dd>
        <dt>Device ID</dt>
        <dd><code>${parts.id}</code></dd>
      </dl>
      ${!parts.isApproved && html`<p>Some addresses open only after an administrator has approved the device. Give them this device ID.</p>`}
      <p class="actions"><a class="button primary" href="/.gateway/">View your devices</a></p>`,
  });
}

function ceremony(parts: CeremonyParts, controls: Html): Html {
  return html`<form
    method="post"
    action="${parts.action}"
    data-ceremony="${parts.kind}"
    data-options="${JSON.stringify(parts.options)}"
  >
    <input type="hidden" name="csrf" value="${parts.csrfToken}" />
    <input type="hidden" name="ticket" value="${parts.ticket}" />
    ${parts.request !== undefined && html`<input type="hidden" name="request" value="${parts.request}" />`}
    <input type="hidden" name="answer" value="" />
    ${controls}
  </form>`;
}

function nameField(id: string): Html {
  return html`<label for="${id}">Name in your list</label>
    <p><input id="${id}" name="name" maxlength="${MAX_NAME_CHARACTERS}" autocomplete="off" /></p>`;
}
