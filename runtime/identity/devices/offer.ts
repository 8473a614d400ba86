/** Page of ceremonies: the devices that this user can prove or register, each with its own challenge. */
import { createHash } from "node:crypto";

import type { Page } from "../../pages/layout.ts";
import { devicePage, type CeremonyParts } from "../../pages/device.ts";
import { nameOf } from "../principal.ts";
import type { Csrf } from "../interfaces.ts";
import type { DeviceRecord } from "../identity-records.ts";
import type { Store } from "../../store/store.ts";
import type { BrowserCaller } from "./ceremonies.ts";
import { listDevices, MAX_DEVICES } from "./devices.ts";
import { DEVICE_FORM } from "./forms.ts";
import type { Challenge, DeviceFlow, DeviceTickets } from "./tickets.ts";
import { proofOptions, registrationOptions } from "./webauthn.ts";

export interface OfferDeps {
  readonly store: Store;
  readonly tickets: DeviceTickets;
  readonly csrf: Csrf;
}

export interface Offer {
  readonly caller: BrowserCaller;
  readonly flow: DeviceFlow | undefined;
  /** The sealed flow, sent with the form. */
  readonly request: string | undefined;
  readonly action: string;
  readonly scriptPath: string;
}

export async function renderDevicePage(deps: OfferDeps, offer: Offer): Promise<Page> {
  const { caller, flow } = offer;
  const { user } = caller.principal;
  const userName = nameOf(user);
  const all = await listDevices(deps, user.id);
  const own = all.map(({ device }) => device).filter(({ rpId }) => rpId === caller.party.rpId);
  const isWanted = ({ type }: Pick<DeviceRecord, "type">): boolean => flow?.type === undefined || type === flow.type;
  const usable = own.filter(isWanted);
  const isFull = all.length >= MAX_DEVICES;

  const ceremony = async (
    kind: CeremonyParts["kind"],
    of: Pick<Challenge, "purpose" | "type">,
    options: (challenge: string) => Promise<object>,
  ): Promise<CeremonyParts> => {
    const { sessionId, host } = caller;
    const challenge = deps.tickets.mintChallenge({ ...of, sessionId, host });
    return {
      kind,
      options: await options(challenge.challenge),
      action: offer.action,
      csrfToken: deps.csrf.token(caller.principal, DEVICE_FORM),
      ticket: deps.tickets.sealChallenge(challenge),
      request: offer.request,
    };
  };
  const registration = (type: DeviceRecord["type"]): Promise<CeremonyParts> | undefined => {
    if (isFull || !isWanted({ type })) return undefined;
    const person = { handle: handleOf(caller), name: userName };
    return ceremony("create", { purpose: "register", type }, (challenge) =>
      registrationOptions(caller.party, { challenge, type, user: person, known: own }),
    );
  };

  return devicePage({
    user: userName,
    address: flow?.host,
    scriptPath: offer.scriptPath,
    prove:
      usable.length === 0
        ? undefined
        : await ceremony("get", { purpose: "prove", type: "any" }, (challenge) =>
            proofOptions(caller.party, { challenge, devices: usable }),
          ),
    registerBuiltIn: await registration("enclave_only"),
    registerOther: await registration("any"),
    isFull,
  });
}

/** User handle for devices. Contains no personal data, as WebAuthn §14.6.1 requires. */
function handleOf({ party, principal }: BrowserCaller): Buffer {
  return createHash("sha256").update(`device ${party.rpId} ${principal.user.id}`).digest();
}
