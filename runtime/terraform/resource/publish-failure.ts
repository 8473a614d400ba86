/** What is true after a publication that failed, and how it is told. */
import { GatewayError } from "../../shared/errors.ts";
import { attributePath } from "./bundle-document.ts";
import { placeToPointAt } from "./bundle-problem.ts";
import type { Diagnostic } from "../protocol/diagnostics.ts";
import { parsePath } from "../../settings/problem.ts";
import type { StateOutcome } from "../protocol/provider.ts";
import { NOT_LIVE, PublishRefusal, type RefusedPart } from "../publish/publish-http.ts";
import { equalValues, type ValueMap } from "../protocol/value.ts";

const NOT_LIVE_SUMMARY = "Not live everywhere";

/** @throws the error itself when it says all that there is, and the state is as it was */
export function failedPublish(error: unknown, prior: ValueMap | null, state: ValueMap): StateOutcome {
  if (error instanceof PublishRefusal && error.parts.length > 0) {
    return { state: prior, diagnostics: error.parts.map((part) => refused(part, state)) };
  }
  const isMoved = prior !== null && !equalValues(prior["http"] ?? null, state["http"] ?? null);
  if (!(error instanceof GatewayError) || error.code !== NOT_LIVE || isMoved) throw error;
  // Terraform replaces a resource whose creation failed, and so would take it away first. Without a state it is created
  // once more, which the gateway, having it already, takes for done.
  const hint = prior ? "" : "\n\nApplying again does not publish it twice, but waits for the others once more.";
  const detail = `${error.message}${hint}`;
  return { state: prior && state, diagnostics: [{ severity: "error", summary: NOT_LIVE_SUMMARY, detail }] };
}

function refused({ path, message }: RefusedPart, state: ValueMap): Diagnostic {
  const place = attributePath(parsePath(path), state);
  const subject = path === "" ? message : `"${path}" ${message}`;
  const detail = `The gateway refuses the bundle and keeps what it has: ${subject}.`;
  return { severity: "error", summary: "Refused by the gateway", detail, path: place, pointAt: placeToPointAt(place) };
}

/** Published, and not in force everywhere: seen while reading it. */
export function notLive(place: string): Diagnostic {
  const detail = `"${place}" is published, but not every process of the gateway serves it. Its log and /status say why.`;
  return { severity: "warning", summary: NOT_LIVE_SUMMARY, detail, path: [{ attribute: "http" }] };
}
