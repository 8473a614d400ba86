/** A draft as a download: text for a pull request. */
import { respondBytes } from "../../http/respond.ts";
import { EXPORT_FORMATS } from "../../simulation/export-draft.ts";
import type { StoredDraft } from "../../simulation/draft-records.ts";
import type { ConsoleRequest } from "../screen.ts";
import { attempt, type SimulatorDeps } from "./deps.ts";

/** @returns false: there is no such export, or none now */
export async function respondExport(
  deps: SimulatorDeps,
  { exchange, query }: ConsoleRequest,
  draft: StoredDraft,
): Promise<boolean> {
  const format = EXPORT_FORMATS.find((each) => each === query.get("as"));
  if (!format) return false;
  const where = await placeOf(deps, draft.owner);
  const made = await attempt(() => deps.drafts.ask({ kind: "export-draft", draft, format, where }));
  if (typeof made === "string" || made.kind !== "exported") return false;
  const { fileName, text } = made.exported;
  const body = Buffer.from(text);
  const headers = {
    "content-type": "text/plain; charset=utf-8",
    "content-length": String(body.length),
    "content-disposition": `attachment; filename="${fileName.replaceAll(/[^A-Za-z0-9._-]/g, "_")}"`,
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; sandbox",
  };
  respondBytes(exchange, 200, Object.entries(headers).flat(), body);
  return true;
}

/** Where the owner's slice comes from, for who makes the pull request. */
async function placeOf({ sliceOrigin }: SimulatorDeps, owner: string): Promise<string> {
  return (await attempt(() => sliceOrigin(owner))) || "Slice origin unknown.";
}
