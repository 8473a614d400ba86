/**
 * State that a browser carries to a proof and back, sealed. Nothing is stored before there is a proof.
 *
 * Promise: a challenge is valid for one session, page and purpose, for ten minutes. The return address was written by
 * the gateway. devices.ts remembers used challenges.
 */
import { randomSecret, type Keys } from "../../shared/keys.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import type { DeviceRecord } from "../identity-records.ts";

/** Original request of a user who must prove a device first. */
export interface DeviceFlow {
  /** Host of a route. */
  readonly host: string;
  /** Path and query on `host`. */
  readonly returnTo: string;
  /** The session that was denied there. */
  readonly sessionId: string;
  /** The required kind of device. */
  readonly type?: "enclave_only";
  readonly expiresAt: number;
}

export interface Challenge {
  readonly purpose: "register" | "prove";
  /** 32 random bytes, base64url. */
  readonly challenge: string;
  readonly sessionId: string;
  /** Host of the page. */
  readonly host: string;
  /** The kind of device to register. */
  readonly type: DeviceRecord["type"];
  readonly expiresAt: number;
}

export interface DeviceTickets {
  sealFlow(flow: Omit<DeviceFlow, "expiresAt">): string;
  /** @returns undefined if forged, changed or expired */
  openFlow(text: string): DeviceFlow | undefined;
  mintChallenge(of: Pick<Challenge, "purpose" | "sessionId" | "host" | "type">): Challenge;
  sealChallenge(challenge: Challenge): string;
  openChallenge(text: string): Challenge | undefined;
}

const LIFE_SECONDS = 600;

export function createTickets({ keys, clock }: { readonly keys: Keys; readonly clock: Clock }): DeviceTickets {
  const flows = keys.sealer("device-request");
  const challenges = keys.sealer("device-challenge");
  const ends = (): number => epochSeconds(clock) + LIFE_SECONDS;
  const open = (sealed: Buffer | undefined): { readonly expiresAt: number } | undefined => {
    if (!sealed) return undefined;
    const value = JSON.parse(sealed.toString()) as { readonly expiresAt: number };
    return value.expiresAt > epochSeconds(clock) ? value : undefined;
  };
  return {
    sealFlow: (flow) => flows.seal(JSON.stringify({ ...flow, expiresAt: ends() }), "journey"),
    openFlow: (text) => open(flows.open(text, "journey")) as DeviceFlow | undefined,
    mintChallenge: (of) => ({ ...of, challenge: randomSecret(), expiresAt: ends() }),
    sealChallenge: (challenge) => challenges.seal(JSON.stringify(challenge), "challenge"),
    openChallenge: (text) => open(challenges.open(text, "challenge")) as Challenge | undefined,
  };
}
