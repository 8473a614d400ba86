/** Error page and log record of a sign-in that failed at the provider. */
import { respondError } from "../../http/respond.ts";
import type { ErrorCode, StatusOf } from "../../http/codes.ts";
import type { Exchange } from "../../http/exchange.ts";
import { GatewayError } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import { refuseUnavailable } from "./sign-in.ts";

/** @param href the page that the user requested, if known */
export type RespondFailure = (exchange: Exchange, error: unknown, headers?: readonly string[], href?: string) => void;

export function createRespondFailure(deps: { readonly log: Log }): RespondFailure {
  return (exchange, error, headers = [], href) => {
    if (!(error instanceof GatewayError)) throw error;
    const isMisconfigured = error.code === "idp.misconfigured";
    const fields = { reason: error.message, failure: error.code, request: exchange.id };
    // Every sign-in fails until an operator changes something.
    if (isMisconfigured) deps.log.error({ ...fields }, "sign-in failed");
    else deps.log.warn({ ...fields }, "sign-in failed");
    if (isMisconfigured) {
      const message =
        "The identity provider rejects the configuration of this gateway. Ask your administrator to check the gateway's log.";
      return refuse(exchange, 502, "sign-in.misconfigured", message, headers, href);
    }
    if (error.code === "idp.subject") {
      const message = "Your ID at the identity provider is not valid here. Its operators must change it.";
      return refuse(exchange, 403, "sign-in.subject", message, headers, href);
    }
    if (error.code === "directory.refused")
      return refuse(exchange, 403, "sign-in.refused", "Your company's directory does not let you in.", headers, href);
    if (error.code !== "idp.refused") return refuseUnavailable(exchange, headers);
    refuse(exchange, 403, "sign-in.refused", "The identity provider did not sign you in.", headers, href);
  };
}

/** @param href target of the link to sign in again; default: the portal */
export function refuse<Code extends ErrorCode>(
  exchange: Exchange,
  status: StatusOf<Code>,
  code: Code,
  message: string,
  headers: readonly string[] = [],
  href = "/.gateway/",
): void {
  respondError(exchange, status, { code, message, links: [{ href, text: "Sign in again" }] }, headers);
}
