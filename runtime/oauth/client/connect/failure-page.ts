/** Error pages for upstreams that could not be connected: the cause, and what the user can do. */
import type { ErrorCode, StatusOf } from "../../../http/codes.ts";
import type { Exchange } from "../../../http/exchange.ts";
import { acceptsHtml, AGAIN_LATER, respondError } from "../../../http/respond.ts";
import type { CompleteFailure } from "./flow.ts";
import { returnAddress } from "./connect-flow.ts";
import type { ConnectFlow } from "../connection-records.ts";

/** Part of an error code after "upstream.". */
type FailureWord = ErrorCode extends infer Code ? (Code extends `upstream.${infer Word}` ? Word : never) : never;

interface FailureText<Failure extends FailureWord = FailureWord> {
  readonly status: StatusOf<`upstream.${Failure}`>;
  readonly title: string;
  readonly message: string;
  readonly canRetry?: boolean;
}

const REQUESTS = {
  "not-here": { status: 404, title: "Page not found", message: "There is no MCP server on this address." },
  "bad-request": {
    status: 400,
    title: "This link cannot be read",
    message: "Please start again from the application.",
  },
  "bad-redirect": {
    status: 400,
    title: "This link cannot be used",
    message:
      "Its redirect_url is missing or does not belong to an MCP client route of this gateway. Ask the author of the link to fix it.",
  },
  "unknown-server": { status: 404, title: "Unknown MCP server", message: "This host has no such MCP server." },
  "bad-ticket": {
    status: 400,
    title: "This link has ended",
    message: "It was created for another user, or is older than ten minutes. Please start again.",
  },
  "denied-by-policy": {
    status: 403,
    title: "No access to this MCP server",
    message: "You are signed in, but policy does not let you use this server. Ask your administrator for access.",
  },
  blocked: { status: 403, title: "Access is blocked", message: "Access is blocked at the moment." },
  "signed-out": {
    status: 403,
    title: "You are no longer signed in",
    message: "Your session ended while you were away, so nothing was connected. Please sign in and start again.",
  },
  foreign: {
    status: 403,
    title: "Started by another user",
    message: "The connection was started by another user or in another browser, so nothing was connected.",
  },
  over: {
    status: 400,
    title: "This connection has ended",
    message: "It was already completed, or took longer than ten minutes. Please start again.",
  },
  "foreign-form": {
    status: 403,
    title: "This form cannot be accepted",
    message: "It does not come from the page that was shown to you. Please open your page again.",
  },
  "store-unavailable": {
    status: 503,
    title: "Temporarily unavailable",
    message: "The gateway's store is unavailable. Please try again in a moment.",
  },
} as const satisfies { readonly [Failure in FailureWord]?: FailureText<Failure> };

export type RequestFailure = keyof typeof REQUESTS;

/** @param connectFlow the flow, once its return address is known to be valid */
export function respondFailure(exchange: Exchange, failure: RequestFailure, connectFlow?: ConnectFlow): void {
  const { status, title, message } = REQUESTS[failure];
  const headers = status === 503 ? AGAIN_LATER : [];
  const links =
    connectFlow === undefined ? [] : [{ href: returnAddress(connectFlow, failure), text: connectFlow.back }];
  tell(exchange, `upstream.${failure}`, { status, title, message, canRetry: status === 503 }, links, headers);
}

/** Links on an error page. */
export interface Way {
  readonly again: string | undefined;
  readonly back: string;
  readonly backText: string;
}

export type ConnectFailure = Exclude<CompleteFailure, "unknown" | "foreign"> | BeginFailure;

/** Failures before the user was redirected. */
type BeginFailure = "issuer-changed" | "not-set-up";

const CONNECTING: {
  readonly [Failure in ConnectFailure]: {
    readonly status: StatusOf<`upstream.${Failure}`>;
    readonly text: (name: string) => string;
  };
} = {
  changed: { status: 400, text: (name) => `The configuration of ${name} changed meanwhile. Please try again.` },
  blocked: { status: 403, text: (name) => `Access to ${name} is blocked at the moment.` },
  "wrong-issuer": {
    status: 400,
    text: (name) =>
      `The answer did not come from the server that ${name} uses, so it was not used. Tell your administrator.`,
  },
  denied: { status: 403, text: (name) => `The access was not granted. ${name} cannot be used until it is.` },
  "answered-error": {
    status: 502,
    text: (name) =>
      `The authorization server of ${name} responded with an error. Ask your administrator to check the gateway's log.`,
  },
  "code-refused": {
    status: 502,
    text: (name) => `The authorization server of ${name} did not complete the sign-in. Please try again.`,
  },
  "client-refused": {
    status: 502,
    text: (name) =>
      `The authorization server of ${name} does not accept this gateway. Ask your administrator to check the client credentials of the route.`,
  },
  "client-forgotten": {
    status: 502,
    text: (name) =>
      `The authorization server of ${name} no longer knows this gateway. Please try again: the gateway registers again.`,
  },
  unavailable: {
    status: 502,
    text: (name) => `The authorization server of ${name} is not available. Try again in a while.`,
  },
  "issuer-changed": {
    status: 502,
    text: (name) =>
      `${name} names another authorization server than before, so nothing was sent to it. Ask your administrator to confirm the change.`,
  },
  "not-set-up": {
    status: 502,
    text: (name) =>
      `${name} cannot be connected with its current settings. Ask your administrator to check the gateway's log.`,
  },
};

/** @param code error code from the authorization server */
export function respondConnectFailure(
  exchange: Exchange,
  name: string,
  failure: CompleteFailure | BeginFailure,
  way: Way,
  code?: string,
): void {
  if (failure === "unknown" || failure === "foreign")
    return respondFailure(exchange, failure === "foreign" ? "foreign" : "over");
  const { status, text } = CONNECTING[failure];
  const links = [
    ...(way.again === undefined ? [] : [{ href: way.again, text: "Try again" }]),
    { href: way.back, text: way.backText },
  ];
  const details = code === undefined ? undefined : ([["Error", code]] as const);
  tell(
    exchange,
    `upstream.${failure}`,
    { status, title: `${name} is not connected`, message: text(name) },
    links,
    [],
    details,
  );
}

function tell(
  exchange: Exchange,
  code: `upstream.${FailureWord}`,
  { status, ...text }: FailureText,
  links: readonly { readonly href: string; readonly text: string }[],
  headers: readonly string[],
  details?: readonly (readonly [string, string])[],
): void {
  const parts = { code, ...text, links, ...(details ? { details } : {}) };
  // HTML pages set their own policy.
  const referrer = acceptsHtml(exchange) ? [] : ["referrer-policy", "no-referrer"];
  respondError(exchange, status, parts, [...headers, ...referrer]);
}
