import type { Report } from "./note.ts";

/**
 * A secret as a reference: what an import writes is committed somewhere, so no secret may be in it.
 *
 * @param name  of the setting
 * @param where for the note; the variable's name is made from it
 */
export function secretSetting(name: string, value: unknown, where: string, report: Report): Record<string, string> {
  if (typeof value !== "string" || value === "") return {};
  const variable = where
    .replace(/^route /, "")
    .replaceAll(/[^A-Za-z0-9]+/g, "_")
    .replaceAll(/^_|_$/g, "")
    .toUpperCase();
  report("secret", where, `environment variable ${variable}`);
  return { [`${name}_ref`]: `env:${variable}` };
}

/** The form `x_file`: the file stays where it is. */
export function secretFile(name: string, path: unknown, where: string, report: Report): Record<string, string> {
  if (typeof path !== "string" || path === "") return {};
  if (!path.startsWith("/")) {
    report("lost", where, `the path "${path}" is relative, write ${name}_ref: file:/… with an absolute one`);
    return {};
  }
  report("secret", where, `file ${path}, which the gateway must be able to read`);
  return { [`${name}_ref`]: `file:${path}` };
}
