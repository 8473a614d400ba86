/** Codes of signing in, of the user's own pages and of devices. */
import type { CodeEntry } from "./entry.ts";

const AGAIN = "The person opens the page again";
const STORE = "Ask `/readyz`: the store, or the identity provider, cannot be reached";

export const SIGN_IN_CODES = {
  "sign-in.required": {
    status: 401,
    means: "Nobody is signed in, and no browser asks that could be led to sign in",
    remedy: "Programs need a token; scripts of a page need its person to sign in again",
  },
  "sign-in.not-configured": {
    status: 503,
    means: "The gateway has no identity provider",
    remedy: "Set `idp_provider_url`, `idp_client_id` and `idp_client_secret`",
  },
  "sign-in.insecure": {
    status: 403,
    means: "Signing in over http, on another host than `localhost`",
    remedy: "Write `from` with https; behind a proxy that ends TLS as well",
  },
  "sign-in.request": {
    status: 400,
    means: "The link to sign in is not complete, or its host has no route",
    remedy: AGAIN,
  },
  "sign-in.ticket": {
    status: 400,
    means: "The link to sign in is not ours, or its route is gone",
    remedy: `${AGAIN}; with several replicas, all need the same \`shared_secret\``,
  },
  "sign-in.callback": {
    status: 400,
    means: "The identity provider's answer is incomplete, belongs to another provider, or its route is gone",
    remedy: `${AGAIN}; if it repeats, the load balancer changes the host, or replicas have different secrets`,
  },
  "sign-in.return": {
    status: 400,
    means:
      "The sign-in began again twice and still cannot be finished: the browser keeps no cookies, or the session ended",
    remedy: `${AGAIN}; allow cookies for this host`,
  },
  "sign-in.refused": {
    status: 403,
    means: "The identity provider or the person refused, or the provider's answer does not fit",
    remedy: "Read `sign-in failed` in the log",
  },
  "sign-in.misconfigured": {
    status: 502,
    means: "The identity provider does not accept the gateway as it is configured, or `idp_provider_url` is wrong",
    remedy: "Read `sign-in failed` in the log: `reason` has the provider's error, and the setting where it is known",
  },
  "sign-in.subject": {
    status: 403,
    means: "The provider's `sub` of this user cannot be a user id here",
    remedy: "Let the provider issue a plainer `sub`",
  },
  "sign-in.unavailable": {
    status: 503,
    means: "The store or the identity provider cannot be reached, so nobody can sign in",
    remedy: "Ask `/readyz`; read `sign-in failed` in the log; allow egress to the provider",
  },
  "sign-out.unavailable": {
    status: 503,
    means: "The session cannot be ended: the store cannot be reached",
    remedy: STORE,
  },
  "user.unavailable": { status: 503, means: "The user page cannot be shown now", remedy: STORE },
  "login.redirect-missing": {
    status: [400, 404],
    means: "A program asks for programmatic login without the address to return to, or on a host without routes",
    remedy: "Correct the program",
  },
  "login.redirect-refused": {
    status: 400,
    means: "The address to return to is not one that may be given a token",
    remedy: "List its host in `programmatic_redirect_domain_whitelist`",
  },
  "login.request": {
    status: 400,
    means: "The link of a programmatic login is too old or was changed",
    remedy: "Begin again in the program",
  },
  "login.unavailable": { status: 503, means: "The programmatic login cannot go on now", remedy: STORE },
  "not-found": {
    status: 404,
    means: "This page of the gateway is on another host: that of `authenticate_service_url`",
    remedy: "",
  },
  "form.refused": {
    status: 403,
    means: "The form was not sent from the gateway's own page",
    remedy: AGAIN,
  },
  "page.not-a-window": {
    status: 403,
    means: "A script or frame asked for a page that is shown in windows alone",
    remedy: "Link to it instead",
  },
  "approval.ended": {
    status: 404,
    means: "There is no call to decide about for this person: decided, too old, or for others to decide",
    remedy: "The client repeats the call, which asks anew",
  },
  "approval.not-yours": {
    status: 403,
    means: "Who asked for a call may not approve it: its rule names `approvers`",
    remedy: "Somebody else of one of these groups opens the address",
  },
  "approval.unavailable": { status: 503, means: "Approvals cannot be looked up now", remedy: STORE },
  "device.address": {
    status: 501,
    means: "Devices cannot be used at this address: it has no host name, or no https",
    remedy: "Set `authenticate_service_url`",
  },
  "device.unavailable": { status: 503, means: "Devices cannot be checked now", remedy: STORE },
  "device.request": { status: 400, means: "The link to prove a device is too old", remedy: AGAIN },
  "device.ticket": {
    status: 400,
    means: "The proof took too long, was used already or belongs to another session",
    remedy: AGAIN,
  },
  "device.answer": {
    status: 400,
    means: "The browser's answer cannot be accepted",
    remedy: "Read `device rejected` in the log",
  },
  "device.unknown-device": {
    status: 400,
    means: "The user has not registered this device",
    remedy: "Register it at `/.gateway/webauthn`",
  },
  "device.copied-device": {
    status: 400,
    means: "The device's signature counter did not grow: its key may have been copied",
    remedy: "`gateway devices revoke`, then register another one",
  },
  "device.not-built-in": {
    status: 400,
    means: "Policy asks for `enclave_only`, and the device is not built into the computer",
    remedy: "Use the computer's own authenticator",
  },
  "device.synced": {
    status: 400,
    means: "Policy asks for `enclave_only`, and the key is copied to other computers by an account",
    remedy: "Use an authenticator that does not synchronize its keys",
  },
  "device.registered": { status: 400, means: "The device is registered already", remedy: "" },
  "device.full": {
    status: 400,
    means: "The user has 20 devices",
    remedy: "The user removes one at `/.gateway/`, or `gateway devices revoke`",
  },
  "device.session-ended": {
    status: 400,
    means: "The session ended while the device was proven",
    remedy: "Sign in again",
  },
} as const satisfies Readonly<Record<string, CodeEntry>>;
