/** Finds a bundle's target from its values, and publishes it there. */
import { errorText } from "../../shared/errors.ts";
import { adminToken, type AdminConnection } from "./admin-token.ts";
import { parseMode } from "../resource/bundle-rules.ts";
import type { Diagnostic } from "../protocol/diagnostics.ts";
import { gatewayTls } from "./gateway-tls.ts";
import { createHttpTarget } from "./publish-http.ts";
import { createFileTarget, type PublishTarget, type ResponseProblem } from "./publish.ts";
import { isMap, type Value, type ValueMap } from "../protocol/value.ts";

export interface PublishedBundle {
  /** Warnings of the gateway. */
  readonly warnings: readonly ResponseProblem[];
  readonly diagnostics: readonly Diagnostic[];
}

/** Publishes and, after a change of target, removes the slice from the previous one. */
export async function publishBundle(
  prior: ValueMap | null,
  state: ValueMap,
  connection: AdminConnection,
  claim: string,
): Promise<PublishedBundle> {
  const target = targetOf(state, connection);
  const previous = prior ? targetOf(prior, connection) : undefined;
  const seen = publishedDigest(prior);
  const warnings = (await target?.write(textOf(state["bundle_json"]), seen, claim)) ?? [];
  const done = { warnings, diagnostics: [] };
  if (!previous || target?.place === previous.place) return done;
  // Two names of one location (a link, a mount): removing "the old one" would remove the slice that was just published.
  try {
    if (target && (await target.identity()) === (await previous.identity())) return done;
    await previous.remove(seen ?? "", claim);
    return done;
  } catch (error) {
    const detail = `The bundle is published, but its earlier place still holds it. ${errorText(error)}`;
    return { warnings, diagnostics: [{ severity: "warning", summary: "Earlier slice not removed", detail }] };
  }
}

/** Digest of the last publication, "" if it was found damaged since; null: never published. */
export function publishedDigest(state: ValueMap | null): string | null {
  const digest = state?.["sha256"];
  return typeof digest === "string" ? digest : null;
}

/** Target of a bundle; undefined if it has none, or it is not known yet. */
export function targetOf(bundle: ValueMap, connection: AdminConnection): PublishTarget | undefined {
  const { owner, file, http } = bundle;
  if (typeof owner !== "string") return undefined;
  if (isMap(http) && typeof http["url"] === "string") {
    const ref = http["token_ref"] ?? null;
    return createHttpTarget({
      url: http["url"],
      owner,
      token: () => adminToken(ref, connection),
      tls: () => gatewayTls(connection),
    });
  }
  if (!isMap(file) || typeof file["directory"] !== "string") return undefined;
  const mode = typeof file["mode"] === "string" ? parseMode(file["mode"]) : undefined;
  return createFileTarget({ directory: file["directory"], owner, mode });
}

function textOf(value: Value | undefined): string {
  if (typeof value !== "string") throw new TypeError("Cannot publish the bundle: it has no text");
  return value;
}
