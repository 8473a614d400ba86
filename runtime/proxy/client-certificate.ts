/** Routes of a gateway that asks for client certificates: without a valid one nothing further is looked at. */
import { respondError } from "../http/respond.ts";
import { recordRefusal } from "./decide.ts";
import type { Passage } from "./request-context.ts";
import { proceed, type StepDeps } from "./steps.ts";

/** @returns true when the request was answered here */
export function refuseWithoutCertificate(deps: StepDeps, passage: Passage): boolean {
  if (deps.requiresClientCertificate !== true) return false;
  const { clientCertificate } = passage.exchange;
  if (clientCertificate?.isValid === true) return false;
  const reason = clientCertificate ? "invalid-client-certificate" : "client-certificate-required";
  const message = clientCertificate
    ? "The certificate of this client is not one that the gateway accepts"
    : "This address needs a client certificate";
  proceed(deps, passage, recordRefusal(deps, passage, reason), () =>
    // 495: "SSL certificate error", as nginx and others say it; no RFC has a status for it.
    respondError(passage.exchange, 495, { code: `access.${reason}`, message }),
  );
  return true;
}
