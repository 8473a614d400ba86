/**
 * Policies that require a registered device, on ordinary routes: only a browser session can verify one.
 *
 * Promise: a caller who is denied only for a device gets 450 (non-standard: 401 would make clients sign in again, and 403
 * would say that nothing helps). A device verification or approval counts at the next request, whichever process accepted it.
 *
 * As in Pomerium, device reasons come before other reasons.
 */
import { redirect, respondError } from "../http/respond.ts";
import { DEVICE_UNAUTHENTICATED, DEVICE_UNAUTHORIZED } from "../policy/criteria.ts";
import type { DeviceMatch } from "../policy/device-match.ts";
import type { CompiledPolicy } from "../policy/evaluate.ts";
import { denialDetails } from "../policy/explain.ts";
import type { Decision } from "../policy/facts.ts";
import type { Authenticator, DeviceProofs } from "../identity/interfaces.ts";
import type { Principal } from "../identity/principal.ts";
import { isNavigation } from "../identity/sign-in/sign-in.ts";
import { foresee } from "./decide.ts";
import { setCaller, type RequestContext } from "./request-context.ts";
import type { Step } from "./steps.ts";

/** Non-standard; the status that Pomerium uses. */
export const DEVICE_STATUS = 450;

export interface DeviceDeps {
  /** Absent = no user is redirected to verify a device. */
  readonly deviceProofs?: DeviceProofs;
}

/** Step: reads the current records of the session's devices if they might change a denial. Other requests skip it. */
export function renewDevices({ authenticator }: { readonly authenticator: Authenticator }): Step {
  return (context) => {
    const { principal, prepared } = context;
    if (!prepared.route.policy.needsDevice || principal?.kind !== "session") return "next";
    if (deviceReason(foresee(context, principal)) === undefined) return "next";
    return authenticator.cookieAgain(context.exchange).then((result) => {
      setCaller(context, result);
      return "next";
    });
  };
}

/** The device reason of a denial, if another device could help: not when a deny rule without device criteria matched. */
export function deviceReason({ allowed, denied, allowWhyFalse, denyWhyTrue }: Decision): DeviceReason | undefined {
  if (allowed) return undefined;
  const reasons = denied ? denyWhyTrue : allowWhyFalse;
  return DEVICE_REASONS.find((reason) => reasons.includes(reason));
}

type DeviceReason = typeof DEVICE_UNAUTHENTICATED | typeof DEVICE_UNAUTHORIZED;
const DEVICE_REASONS: readonly DeviceReason[] = [DEVICE_UNAUTHENTICATED, DEVICE_UNAUTHORIZED];

/** Redirects a user to device verification; rejects programs, and users whose device is not accepted. */
export function answerDevice(
  deps: DeviceDeps,
  context: RequestContext,
  principal: Principal,
  reason: DeviceReason,
): void {
  const { exchange, snapshot, prepared, facts } = context;
  const { policy, showErrorDetails } = prepared.route;
  const type = neededType(policy);
  const isPerson = principal.kind === "session";
  const address = isPerson ? deps.deviceProofs?.addressOf(exchange, snapshot, principal, type) : undefined;
  if (address !== undefined && reason === DEVICE_UNAUTHENTICATED && isNavigation(exchange))
    return redirect(exchange, 302, address);
  const details = [
    ...(principal.devices ?? []).map(({ id }) => ["Device", id] as const),
    ...(showErrorDetails && facts ? denialDetails(policy, facts) : []),
  ];
  respondError(exchange, DEVICE_STATUS, {
    code: reason === DEVICE_UNAUTHENTICATED ? "device.unauthenticated" : "device.unauthorized",
    message: messageOf(principal, reason),
    // So that the user can name the device to an administrator.
    ...(details.length > 0 && { details }),
    links: [
      ...(address === undefined ? [] : [{ href: address, text: reasonLink(reason) }]),
      { href: "/.gateway/", text: "View your devices" },
    ],
  });
}

function reasonLink(reason: DeviceReason): string {
  return reason === DEVICE_UNAUTHENTICATED ? "Use a registered device" : "Use another device";
}

function messageOf({ kind }: Principal, reason: DeviceReason): string {
  if (kind !== "session")
    return "This address requires a registered device. Only a browser can verify one, so API clients cannot use this address";
  return reason === DEVICE_UNAUTHENTICATED
    ? "This address requires a device that you registered. Open it in a browser to verify yours"
    : "Your device is verified, but the policy of this address does not accept it. An administrator may have to approve it first: send them the device's ID";
}

/** The device type that a policy requires, if it requires only one. */
function neededType({ allow, deny }: CompiledPolicy): "enclave_only" | undefined {
  const types = [...allow, ...deny].flatMap(({ leaves }) =>
    leaves.flatMap(({ criterion, data }) => (criterion.about === "device" ? [(data as DeviceMatch).type] : [])),
  );
  return types.includes("enclave_only") && !types.includes("any") ? "enclave_only" : undefined;
}
