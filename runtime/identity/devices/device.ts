/**
 * Registered devices: the page on which users register and verify them.
 *
 * The pages are on the host of sign-in pages, to which keys are also bound. A proof is written into the session's
 * record and so applies on every host of the session.
 *
 * Untrusted input: requests, forms and the browser's data about a device. Promises: only a form on our page, of this
 * very session, has an effect. Redirects lead only to configured hosts.
 */
import { isIP } from "node:net";

import type { Snapshot } from "../../config/snapshot.ts";
import { readForm } from "../../http/body.ts";
import type { Endpoint } from "../../http/endpoint.ts";
import type { Exchange } from "../../http/exchange.ts";
import { parseQuery } from "../../shared/http/query.ts";
import { redirect, respondAgainLater, respondError, respondHtml, respondBytes } from "../../http/respond.ts";
import type { Keys } from "../../shared/keys.ts";
import type { Log } from "../../shared/log.ts";
import { pageHeaders } from "../../pages/layout.ts";
import type { Clock } from "../../shared/clock.ts";
import { isFromOwnForm, refuseForm, refuseScript } from "../csrf.ts";
import type { DeviceProofs } from "../interfaces.ts";
import { findSite, type Site } from "../sites.ts";
import type { Store } from "../../store/store.ts";
import { finishCeremony, type BrowserCaller, type CeremonyRefusal } from "./ceremonies.ts";
import { DEVICE_FORM, DEVICE_PATH } from "./forms.ts";
import { renderDevicePage } from "./offer.ts";
import { createTickets, type DeviceFlow } from "./tickets.ts";
import type { DeviceSession } from "./deps.ts";
import { isLoopbackHost } from "../../settings/values.ts";
import { deviceEnrolledPage } from "../../pages/device.ts";
import { DEVICE_SCRIPT } from "../../pages/device-script.ts";
import { continuePage } from "../../pages/signed-out.ts";
import { isReturnPath, withStore } from "../sign-in/sign-in.ts";
import { listDevices } from "./devices.ts";
import { bareHost } from "../../shared/net/bare-host.ts";

const SCRIPT_PATH = "/.gateway/webauthn.js";
const ENROLLED_PATH = "/.gateway/device-enrolled";
/** Responses have some 2 KiB. */
const MAX_FORM_BYTES = 32 * 1024;

export interface DeviceModuleDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly session: DeviceSession;
  readonly log: Log;
  readonly clock: Clock;
}

export interface DeviceModule {
  readonly endpoints: readonly Endpoint[];
  readonly proofs: DeviceProofs;
}

export function createDevices(deps: DeviceModuleDeps): DeviceModule {
  const { store, clock, log, session } = deps;
  const { csrf } = session;
  const tickets = createTickets(deps);

  /** Returns a signed-in browser on the right host; undefined if a response was sent. */
  const callerOf = async (exchange: Exchange, snapshot: Snapshot): Promise<BrowserCaller | undefined> => {
    const site = findSite(snapshot, exchange.host);
    const isForm = exchange.method === "POST";
    if (site && !site.authenticates && !isForm) {
      redirect(exchange, 302, `${site.authenticateOrigin}${exchange.path}${exchange.query}`);
      return undefined;
    }
    if (!site?.authenticates || (isForm && !isFromOwnForm(exchange, site.origin))) {
      refuseForm(exchange);
      return undefined;
    }
    if (!isForm && refuseScript(exchange)) return undefined;
    const problem = deviceAddressProblem(site);
    if (problem !== undefined) {
      respondError(exchange, 501, { code: "device.address", message: `Devices cannot be used here: ${problem}` });
      return undefined;
    }
    const who = await session.browser.principal(exchange, snapshot);
    if (!who.ok) {
      if (who.reason === "unavailable")
        respondAgainLater(exchange, { code: "device.unavailable", message: "Devices cannot be checked right now." });
      else await session.browser.requireSignIn(exchange, snapshot);
      return undefined;
    }
    const { principal } = who;
    const { sessionId } = principal;
    if (principal.kind !== "session" || sessionId === undefined) {
      refuseForm(exchange);
      return undefined;
    }
    const party = { rpId: site.hostname, origin: site.origin };
    return { principal, sessionId, host: site.host, party, requestId: exchange.id };
  };

  const showPage = async (exchange: Exchange, snapshot: Snapshot): Promise<void> => {
    const query = parseQuery(exchange.query);
    const request = query.ok ? query.values.get("request") : undefined;
    const flow = request === undefined ? undefined : tickets.openFlow(request);
    if (request !== undefined && !flow) return rejectDeviceFlow(exchange);
    const caller = await callerOf(exchange, snapshot);
    if (!caller) return undefined;
    const page = await renderDevicePage(
      { store, tickets, csrf },
      { caller, flow, request, action: DEVICE_PATH, scriptPath: SCRIPT_PATH },
    );
    respondHtml(exchange, 200, page, pageHeaders(exchange, [], caller.party.origin + SCRIPT_PATH));
  };

  const finish = async (exchange: Exchange, snapshot: Snapshot): Promise<void> => {
    const caller = await callerOf(exchange, snapshot);
    if (!caller) return undefined;
    const form = await readForm(exchange, MAX_FORM_BYTES);
    if (!form.ok || !csrf.verify(caller.principal, DEVICE_FORM, form.values.get("csrf") ?? ""))
      return refuseForm(exchange);
    const request = form.values.get("request");
    const flow = request === undefined ? undefined : tickets.openFlow(request);
    const result = await finishCeremony({ store, clock, log, tickets }, caller, form.values);
    if (!result.ok) return refuseCeremony(exchange, result.reason, flow && request);
    const next = flow && returnAddress(snapshot, flow, caller);
    if (next !== undefined) {
      // A page that refreshes instead of a redirect: browsers apply the form's policy to redirects after it.
      const page = continuePage({ title: "Device verified", href: next });
      return respondHtml(exchange, 200, page, ["refresh", `0;url=${next}`]);
    }
    const enrolled = `${ENROLLED_PATH}?device=${result.proof.id}`;
    redirect(exchange, 303, caller.party.origin + (result.purpose === "register" ? enrolled : "/.gateway/"));
  };

  const showEnrolled = async (exchange: Exchange, snapshot: Snapshot): Promise<void> => {
    const caller = await callerOf(exchange, snapshot);
    if (!caller) return undefined;
    const query = parseQuery(exchange.query);
    const id = query.ok ? query.values.get("device") : undefined;
    const own = await listDevices({ store }, caller.principal.user.id);
    const found = own.find(({ device }) => device.id === id)?.device;
    if (!found) return redirect(exchange, 302, `${caller.party.origin}/.gateway/`);
    const { name, approvedAt } = found;
    respondHtml(exchange, 200, deviceEnrolledPage({ id: found.id, name, isApproved: approvedAt !== undefined }));
  };

  const inStore = (work: (exchange: Exchange, snapshot: Snapshot) => Promise<void>) => {
    return (exchange: Exchange, snapshot: Snapshot) => withStore(exchange, () => work(exchange, snapshot));
  };

  return {
    endpoints: [
      { methods: ["GET"], path: DEVICE_PATH, handle: inStore(showPage) },
      { methods: ["POST"], path: DEVICE_PATH, handle: inStore(finish) },
      { methods: ["GET"], path: SCRIPT_PATH, handle: sendScript },
      { methods: ["GET"], path: ENROLLED_PATH, handle: inStore(showEnrolled) },
    ],
    proofs: {
      addressOf(exchange, snapshot, { sessionId }, type) {
        const site = findSite(snapshot, exchange.host);
        if (!site || sessionId === undefined) return undefined;
        const requested = exchange.path + exchange.query;
        const returnTo = isReturnPath(requested) ? requested : "/";
        const request = tickets.sealFlow({
          host: site.host,
          returnTo,
          sessionId,
          ...(type === undefined ? {} : { type }),
        });
        return `${site.authenticateOrigin}${DEVICE_PATH}?request=${request}`;
      },
    },
  };
}

/** Returns the address that requested the proof, if it is still one of ours. */
function returnAddress(snapshot: Snapshot, flow: DeviceFlow, caller: BrowserCaller): string | undefined {
  const target = findSite(snapshot, flow.host);
  if (target?.authenticateOrigin !== caller.party.origin) return undefined;
  if (flow.sessionId === caller.sessionId) return target.origin + flow.returnTo;
  // A new sign-in on this host meanwhile: the route's host must get the session that proved the device.
  return `${target.origin}/.gateway/sign_in?return_to=${encodeURIComponent(flow.returnTo)}`;
}

/** Reasons why browsers cannot bind keys to this host. */
function deviceAddressProblem({ hostname, secure }: Site): string | undefined {
  if (isIP(bareHost(hostname)) !== 0) return "the address must have a host name instead of an IP address";
  return secure || isLoopbackHost(hostname) ? undefined : "the address must begin with https";
}

function sendScript(exchange: Exchange): void {
  const headers = ["content-type", "text/javascript; charset=utf-8", "x-content-type-options", "nosniff"];
  const length = String(Buffer.byteLength(DEVICE_SCRIPT));
  respondBytes(
    exchange,
    200,
    [...headers, "x-request-id", exchange.id, "cache-control", "no-cache", "content-length", length],
    DEVICE_SCRIPT,
  );
}

const REFUSALS: Readonly<Record<CeremonyRefusal, string>> = {
  ticket: "This took too long, was already done, or belongs to another session.",
  answer:
    "The response of your device is invalid. The page requires JavaScript, and a device that asks you to confirm.",
  "unknown-device": "You have not registered this device here.",
  "copied-device":
    "This device reports a lower count than before, so its key may have been copied. Please tell an administrator.",
  "not-built-in": "Only a device that is built into this computer can be registered this way.",
  synced:
    "This computer keeps the key in an account that other computers share, so the key does not identify this computer.",
  registered: "This device is already registered.",
  full: "You have reached the limit of registered devices. Remove one first.",
  "session-ended": "The session has ended.",
};

function refuseCeremony(exchange: Exchange, reason: CeremonyRefusal, request: string | undefined): void {
  const again = request === undefined ? DEVICE_PATH : `${DEVICE_PATH}?request=${request}`;
  respondError(exchange, 400, {
    code: `device.${reason}`,
    message: `${REFUSALS[reason]} Please open the page again.`,
    links: [
      { href: again, text: "Try again" },
      { href: "/.gateway/", text: "View your devices" },
    ],
  });
}

function rejectDeviceFlow(exchange: Exchange): void {
  respondError(exchange, 400, {
    code: "device.request",
    message: "This took too long. Please open the page that you wanted again.",
  });
}
