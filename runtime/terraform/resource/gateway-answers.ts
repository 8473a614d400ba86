/**
 * A gateway's responses about a bundle as diagnostics, before and after it is published; and the state after a failed
 * publication.
 */
import { errorText } from "../../shared/errors.ts";
import { attributePath } from "./bundle-document.ts";
import { placeToPointAt } from "./bundle-problem.ts";
import { type Diagnostic, pathText } from "../protocol/diagnostics.ts";
import { parsePath } from "../../settings/problem.ts";
import type { StateOutcome } from "../protocol/provider.ts";
import type { AdminConnection } from "../publish/admin-token.ts";
import { publishedDigest, targetOf } from "../publish/bundle-target.ts";
import { NotLive, PublishRefusal } from "../publish/publish-http.ts";
import type { ResponseProblem } from "../publish/publish.ts";
import { equalValues, type ValueMap } from "../protocol/value.ts";

const NOT_LIVE_SUMMARY = "Not live everywhere";

/** @throws the error itself when it is complete and the state is unchanged */
export function failedPublish(
  error: unknown,
  prior: ValueMap | null,
  state: ValueMap,
  known: readonly Diagnostic[],
): StateOutcome {
  if (error instanceof PublishRefusal && error.parts.length > 0) {
    const subject = "The gateway refuses the bundle and keeps what it has";
    return { state: prior, diagnostics: error.parts.map((part) => refused(subject, part, state)) };
  }
  const isMoved = prior !== null && !equalValues(prior["http"] ?? null, state["http"] ?? null);
  if (!(error instanceof NotLive) || isMoved) throw error;
  // Terraform replaces a resource whose creation failed, and so would remove it first. Without a state it is created again,
  // and the gateway, which has the content already, reports success.
  const hint = prior ? "" : "\n\nApplying again does not publish it twice, but waits for the others once more.";
  const detail = `${error.message}${hint}`;
  const failed: Diagnostic = { severity: "error", summary: NOT_LIVE_SUMMARY, detail };
  return { state: prior && state, diagnostics: [failed, ...gatewayWarnings(error.warnings, state, known)] };
}

/**
 * Problems that only the gateway's whole configuration shows, when a change is planned: a host of another owner, a permission
 * that the owner does not have. An unreachable gateway stops no plan.
 */
export async function planProblems(
  prior: ValueMap | null,
  planned: ValueMap,
  connection: AdminConnection,
): Promise<readonly Diagnostic[]> {
  const { bundle_json: text, sha256, http = null } = planned;
  const isChanged = sha256 !== publishedDigest(prior) || !equalValues(http, prior?.["http"] ?? null);
  if (process.env["GATEWAY_PLAN_VALIDATION"] === "off" || typeof text !== "string" || !isChanged) return [];
  try {
    await targetOf(planned, connection)?.validate?.(text);
    return [];
  } catch (error) {
    if (!(error instanceof PublishRefusal)) {
      const detail = `Applying may fail for what only the gateway knows. ${errorText(error)}`;
      return [{ severity: "warning", summary: "Not validated by the gateway", detail, path: [{ attribute: "http" }] }];
    }
    const parts = error.parts.length > 0 ? error.parts : [{ path: "", message: error.message }];
    return parts.map((part) => refused("The gateway would refuse the bundle", part, planned));
  }
}

/**
 * Warns about a new resource at a target that has a slice: after one more apply the slice would be this resource's, and be
 * removed with it.
 *
 * @param ours claims of resources that stay in this state: a replacement is also planned as a new resource
 */
export async function publishedAlready(
  planned: ValueMap,
  ours: ReadonlySet<string>,
  connection: AdminConnection,
): Promise<readonly Diagnostic[]> {
  const target = targetOf(planned, connection);
  if (!target || process.env["GATEWAY_PLAN_VALIDATION"] === "off") return [];
  // An unreachable target stops no plan: applying reports it.
  const published = await target.read().catch(() => undefined);
  if (published?.kind !== "slice" || (published.claim !== undefined && ours.has(published.claim))) return [];
  const from = "from another resource, workspace or state";
  const detail =
    published.digest === planned["sha256"]
      ? `"${target.place}" has this content already, ${from}. This resource takes it over: destroying it then removes the slice. If a resource got another name, add a "moved" block. Otherwise give each state and each workspace its own owner.`
      : `"${target.place}" is published already, ${from}. Applying fails unless the content is the same. Import the slice, or add a "moved" block if a resource got another name. Otherwise give each state and each workspace its own owner.`;
  return [{ severity: "warning", summary: "Slice is published already", detail, path: [{ attribute: "owner" }] }];
}

const MOST_WARNINGS = 10;

/**
 * One diagnostic, since Terraform shows only the first of several with the same summary.
 *
 * @param known diagnostics that this side has already reported
 */
export function gatewayWarnings(
  reported: readonly ResponseProblem[],
  state: ValueMap,
  known: readonly Diagnostic[],
): readonly Diagnostic[] {
  const fresh = reported.flatMap(({ path, message }) => {
    const place = attributePath(parsePath(path), state);
    const isKnown = known.some(
      (each) => pathText(each.path ?? []) === pathText(place) && each.detail.includes(message),
    );
    return isKnown ? [] : [{ place, text: path === "" ? message : `"${path}" ${message}` }];
  });
  const [first] = fresh;
  if (!first) return [];
  const rest = fresh.length - MOST_WARNINGS;
  const lines = fresh.slice(0, MOST_WARNINGS).map(({ text }) => `${text}.`);
  if (rest > 0) lines.push(`${rest} more warnings are not shown.`);
  const at = fresh.length === 1 ? { path: first.place, pointAt: placeToPointAt(first.place) } : {};
  return [{ severity: "warning", summary: "Warning from the gateway", detail: lines.join("\n"), ...at }];
}

function refused(subject: string, { path, message }: ResponseProblem, state: ValueMap): Diagnostic {
  const place = attributePath(parsePath(path), state);
  const detail = `${subject}: ${path === "" ? message : `"${path}" ${message}`}.`;
  return { severity: "error", summary: "Refused by the gateway", detail, path: place, pointAt: placeToPointAt(place) };
}

/** Warning from a read: published, but not active in all processes. */
export function notLive(place: string): Diagnostic {
  const detail = `"${place}" is published, but not every process of the gateway serves it. Its log and /status say why.`;
  return { severity: "warning", summary: NOT_LIVE_SUMMARY, detail, path: [{ attribute: "http" }] };
}
