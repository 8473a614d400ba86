/**
 * A published slice → the content of its HCL.
 *
 * Terraform can generate configuration for an import (`-generate-config-out`), but it writes every setting of a
 * resource, most of them null.
 */
import { isRecord, type Members } from "../../shared/is-record.ts";
import { loadSlices } from "../../config/load.ts";
import { isOwner } from "../../features/process/owners.ts";
import { formatPath } from "../../settings/problem.ts";
import { routeFields } from "../../config/route.ts";
import { type SecretUse, secretUses } from "../../settings/secret-forms.ts";
import { settingsFields } from "../../config/settings.ts";
import type { Note, ImportReport, Converted } from "./note.ts";
import { secretVariable } from "./secret.ts";

/** Recognizes a published slice: it has a version and an owner. */
export function isSlice(value: Members): boolean {
  return value["version"] === 1 && typeof value["owner"] === "string" && isOwner(value["owner"]);
}

/** @param slice as `isSlice` accepts it */
export function convertSlice(slice: Members): Converted {
  const notes: Note[] = [];
  const report: ImportReport = (kind, where, text) => void notes.push({ kind, where, text });
  const routes: Record<string, Members> = {};
  for (const [name, route] of Object.entries(isRecord(slice["routes"]) ? slice["routes"] : {})) {
    if (isRecord(route))
      routes[name] = withoutSecrets(route, secretUses(routeFields, route), `route "${name}"`, report);
  }
  const written = isRecord(slice["settings"]) ? slice["settings"] : {};
  const { problems } = loadSlices([{ file: "", text: JSON.stringify(slice), boot: false }]);
  return {
    owner: String(slice["owner"]),
    isPublished: true,
    settings: withoutSecrets(written, secretUses(settingsFields, written), "", report),
    boot: {},
    leftForBoot: [],
    routes,
    notes,
    problems: problems
      .filter(({ severity }) => severity === "error")
      .map(({ path, message }) => `"${formatPath(path)}" ${message}`),
  };
}

/** Replaces plain-text secrets by references; references and sealed secrets stay. */
function withoutSecrets(doc: Members, uses: Iterable<SecretUse>, place: string, report: ImportReport): Members {
  const copy = structuredClone(doc) as Record<string, unknown>;
  for (const { path, name, form } of uses) {
    if (form !== "plain") continue;
    let block: Record<string, unknown> = copy;
    for (const step of path.slice(0, -1)) block = block[step] as Record<string, unknown>;
    delete block[name];
    const where = [place, formatPath(path)].filter(Boolean).join(", ");
    Object.assign(
      block,
      secretVariable(name, where, report, "which is in plain text there; the plan shows the change"),
    );
  }
  return copy;
}
