/** Codes of signing in, of the user's own pages and of devices. */
import type { CodeEntry } from "./entry.ts";

const AGAIN = "Open the page again";
const STORE = "Check `/readyz`: the store or the identity provider is unavailable";

export const SIGN_IN_CODES = {
  "sign-in.required": {
    status: 401,
    cause: "Unauthenticated request, not from a browser that can sign in",
    fix: "Send a token. In the script of a page, ask the user to sign in again",
  },
  "sign-in.not-configured": {
    status: 503,
    cause: "The gateway has no identity provider",
    fix: "Set `idp_provider_url`, `idp_client_id` and `idp_client_secret`",
  },
  "sign-in.insecure": {
    status: 403,
    cause: "Sign-in over http on a host other than `localhost`",
    fix: "Use https in `from`, also behind a proxy that terminates TLS",
  },
  "sign-in.request": {
    status: 400,
    cause: "The sign-in link is incomplete, or its host has no route",
    fix: AGAIN,
  },
  "sign-in.ticket": {
    status: 400,
    cause: "The sign-in link is not from this gateway, or its route was removed",
    fix: `${AGAIN}. With several replicas, give all the same \`shared_secret\``,
  },
  "sign-in.callback": {
    status: 400,
    cause: "The identity provider's response is incomplete, belongs to another provider, or its route was removed",
    fix: `${AGAIN}. If it repeats, the load balancer changes the host, or replicas have different secrets`,
  },
  "sign-in.return": {
    status: 400,
    cause: "Two attempts to finish the sign-in failed: the browser stores no cookies, or the session ended",
    fix: `${AGAIN}, with cookies allowed for this host`,
  },
  "sign-in.refused": {
    status: 403,
    cause: "The identity provider or the user denied the sign-in, or the provider's response is invalid",
    fix: "Read `sign-in failed` in the log",
  },
  "sign-in.misconfigured": {
    status: 502,
    cause: "The identity provider rejects the gateway's configuration, or `idp_provider_url` is wrong",
    fix: "Read `sign-in failed` in the log: `reason` has the provider's error, and the setting if known",
  },
  "sign-in.subject": {
    status: 403,
    cause: "The provider's `sub` of this user is not valid as a user ID",
    fix: "Configure a simpler `sub` at the provider",
  },
  "sign-in.unavailable": {
    status: 503,
    cause: "The store or the identity provider is unavailable, so no user can sign in",
    fix: "Check `/readyz`; read `sign-in failed` in the log; allow egress to the provider",
  },
  "sign-out.unavailable": {
    status: 503,
    cause: "The session cannot be ended: the store is unavailable",
    fix: STORE,
  },
  "user.unavailable": { status: 503, cause: "The user page cannot be shown now", fix: STORE },
  "login.redirect-missing": {
    status: [400, 404],
    cause: "A request for programmatic login lacks the redirect URI, or its host has no routes",
    fix: "Fix the program that requested it",
  },
  "login.redirect-refused": {
    status: 400,
    cause: "The redirect URI of the programmatic login is not allowed",
    fix: "Add its host to `programmatic_redirect_domain_whitelist`",
  },
  "login.request": {
    status: 400,
    cause: "The link of a programmatic login expired or was modified",
    fix: "Start again in the program",
  },
  "login.unavailable": { status: 503, cause: "The programmatic login cannot continue now", fix: STORE },
  "not-found": {
    status: 404,
    cause: "This page is on another host: that of `authenticate_service_url`",
    fix: "",
  },
  "form.refused": {
    status: 403,
    cause: "The form did not come from the gateway's own page",
    fix: AGAIN,
  },
  "page.not-a-window": {
    status: 403,
    cause: "A script or frame requested a page that is only shown in windows",
    fix: "Link to it instead",
  },
  "approval.ended": {
    status: 404,
    cause: "No call is pending for this user: it was decided, expired, or needs other approvers",
    fix: "Repeat the call in the client, which asks for approval again",
  },
  "approval.not-yours": {
    status: 403,
    cause: "The requester cannot approve their own call: the rule names `approvers`",
    fix: "Ask another user in one of these groups to open the address",
  },
  "run.ended": {
    status: 404,
    cause: "The agent run was decided, expired or ended, or names another approver",
    fix: "Let the workload request a run again. The approver must sign in with the address that the request names",
  },
  "run.unavailable": { status: 503, cause: "Agent runs cannot be looked up now", fix: STORE },
  "approval.unavailable": { status: 503, cause: "Approvals cannot be looked up now", fix: STORE },
  "device.address": {
    status: 501,
    cause: "Devices need a host name and https, which this address lacks",
    fix: "Set `authenticate_service_url`",
  },
  "device.unavailable": { status: 503, cause: "Devices cannot be checked now", fix: STORE },
  "device.request": {
    status: 400,
    cause: "The link to the device page is invalid or older than 10 minutes",
    fix: "Open the address again that required a device",
  },
  "device.ticket": {
    status: 400,
    cause:
      "The form of the device page was sent after more than 10 minutes, a second time, or from another session or host",
    fix: "Open the device page again",
  },
  "device.answer": {
    status: 400,
    cause: "The browser's response is invalid",
    fix: "Read `device rejected` in the log",
  },
  "device.unknown-device": {
    status: 400,
    cause: "The user has not registered this device",
    fix: "Register it at `/.gateway/webauthn`",
  },
  "device.copied-device": {
    status: 400,
    cause: "The device's signature counter did not increase: its key may have been copied",
    fix: "Run `gateway devices revoke`, then register another device",
  },
  "device.not-built-in": {
    status: 400,
    cause: "Policy requires `enclave_only`, and the device is not built into the computer",
    fix: "Use the computer's built-in authenticator",
  },
  "device.synced": {
    status: 400,
    cause: "Policy requires `enclave_only`, and an account copies this key to other computers",
    fix: "Use an authenticator that does not sync its keys",
  },
  "device.registered": { status: 400, cause: "The device is already registered", fix: "None: use the device" },
  "device.full": {
    status: 400,
    cause: "The user has 20 devices, the maximum",
    fix: "Ask the user to remove one at `/.gateway/`, or run `gateway devices revoke`",
  },
  "device.session-ended": {
    status: 400,
    cause: "The session ended during the device verification",
    fix: "Sign in again",
  },
} as const satisfies Readonly<Record<string, CodeEntry>>;
