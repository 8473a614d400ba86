/**
 * A browser's response to a challenge → a registered device, or a proof in the session's record.
 *
 * Untrusted input: the form. Promises: a challenge is used once, by its session, on the host of its page and for its
 * purpose. A proof comes from a device of the same user. Nothing is written before the response is verified.
 */
import type { Log } from "../../shared/log.ts";
import { MAX_NAME_CHARACTERS } from "../../pages/device.ts";
import type { Principal } from "../principal.ts";
import type { DeviceProof } from "../identity-records.ts";
import {
  listDevices,
  noteUse,
  proveToSession,
  registerDevice,
  takeChallenge,
  type DeviceDeps,
  type ActiveDevice,
} from "./devices.ts";
import type { Challenge, DeviceTickets } from "./tickets.ts";
import { credentialIdOf, verifyProof, verifyRegistration, type RelyingParty } from "./webauthn.ts";

export interface CeremonyDeps extends DeviceDeps {
  readonly tickets: DeviceTickets;
  readonly log: Log;
}

/** A signed-in browser on our page. */
export interface BrowserCaller {
  readonly principal: Principal;
  readonly sessionId: string;
  /** Host of the page. */
  readonly host: string;
  readonly party: RelyingParty;
  readonly requestId: string;
}

export type CeremonyRefusal =
  | "ticket"
  | "answer"
  | "unknown-device"
  | "copied-device"
  | "not-built-in"
  | "synced"
  | "registered"
  | "full"
  | "session-ended";

export type CeremonyResult =
  | { readonly ok: true; readonly purpose: Challenge["purpose"]; readonly proof: DeviceProof }
  | { readonly ok: false; readonly reason: CeremonyRefusal };

const MAX_CONFLICTS = 4;

/** @throws GatewayError `store.unavailable` */
export async function finishCeremony(
  deps: CeremonyDeps,
  caller: BrowserCaller,
  form: ReadonlyMap<string, string>,
): Promise<CeremonyResult> {
  // 1. The challenge: ours, for this session and host, and not expired.
  const challenge = deps.tickets.openChallenge(form.get("ticket") ?? "");
  if (challenge?.sessionId !== caller.sessionId || challenge.host !== caller.host) return refuse("ticket");
  const answer = readAnswer(form.get("answer") ?? "");
  // 2. The response. 3. Its effect, for the first response to a challenge only.
  const done =
    challenge.purpose === "register"
      ? await register(deps, caller, challenge, answer, nameOf(form.get("name")))
      : await prove(deps, caller, challenge, answer);
  if (typeof done === "string") return refuse(done);
  // 4. A registration also proves the device: it signed this session's challenge.
  if (!(await proveToSession(deps, caller.sessionId, done))) return refuse("session-ended");
  const fields = { user: caller.principal.user.id, device: done.id, request: caller.requestId };
  deps.log.info(fields, challenge.purpose === "register" ? "device registered" : "device verified");
  return { ok: true, purpose: challenge.purpose, proof: done };
}

async function register(
  deps: CeremonyDeps,
  caller: BrowserCaller,
  challenge: Challenge,
  answer: unknown,
  name: string,
): Promise<DeviceProof | CeremonyRefusal> {
  const { party, principal } = caller;
  const result = await verifyRegistration(party, challenge.challenge, challenge.type, answer);
  if (!result.ok) {
    logRejection(deps, caller, result.detail);
    return result.reason === "invalid" ? "answer" : result.reason;
  }
  if (!(await take(deps, caller, challenge))) return "ticket";
  const { credential } = result;
  const made = await registerDevice(deps, { userId: principal.user.id, name, rpId: party.rpId, credential });
  if (made === "known") return "registered";
  return made;
}

async function prove(
  deps: CeremonyDeps,
  caller: BrowserCaller,
  challenge: Challenge,
  answer: unknown,
): Promise<DeviceProof | CeremonyRefusal> {
  let isTaken = false;
  for (let attempt = 0; attempt < MAX_CONFLICTS; attempt += 1) {
    // Search only this user's devices: a user cannot prove another user's device.
    const found = await findOwn(deps, caller, credentialIdOf(answer));
    if (!found) return "unknown-device";
    const result = await verifyProof(caller.party, challenge.challenge, found.device, answer);
    if (!result.ok) {
      logRejection(deps, caller, result.detail, found.proof.id);
      return result.reason === "counter" ? "copied-device" : "answer";
    }
    isTaken ||= await take(deps, caller, challenge);
    if (!isTaken) return "ticket";
    // The device was used elsewhere meanwhile: check again with the new counter.
    if (await noteUse(deps, found, result.counter)) return found.proof;
  }
  return "answer";
}

async function findOwn(
  deps: CeremonyDeps,
  { principal, party }: BrowserCaller,
  credentialId: string | undefined,
): Promise<ActiveDevice | undefined> {
  const own = await listDevices(deps, principal.user.id);
  return own.find(({ device }) => device.credentialId === credentialId && device.rpId === party.rpId);
}

function take(deps: CeremonyDeps, { principal }: BrowserCaller, { challenge, expiresAt }: Challenge): Promise<boolean> {
  return takeChallenge(deps, { challenge, userId: principal.user.id, expiresAt });
}

function logRejection(
  deps: CeremonyDeps,
  { principal, requestId }: BrowserCaller,
  reason: string,
  device?: string,
): void {
  // Browser input may be long and contain line breaks.
  const fields = reason.replace(/[^\x20-\x7e]/g, "?").slice(0, 200);
  deps.log.warn({ user: principal.user.id, device, request: requestId, reason: fields }, "device rejected");
}

function refuse(reason: CeremonyRefusal): CeremonyResult {
  return { ok: false, reason };
}

function readAnswer(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The user's name for the device, without control and invisible characters. */
function nameOf(text = ""): string {
  const name = text
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/gu, "")
    .trim()
    .slice(0, MAX_NAME_CHARACTERS);
  return name === "" ? "Device without a name" : name.toWellFormed();
}
