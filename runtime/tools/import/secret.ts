import { secretNames } from "../../settings/secret-forms.ts";
import type { ImportReport } from "./note.ts";

/** In Pomerium, an empty value is the same as an absent one. */
export function isWritten(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

/**
 * A secret as a reference: the output of an import is usually committed, so it must not contain secrets.
 *
 * @param name of the setting
 * @param where for the note; the variable's name is made from it
 * @param about for the note: content of the variable
 */
export function secretSetting(
  name: string,
  value: unknown,
  where: string,
  report: ImportReport,
  about = "",
): Record<string, string> {
  return typeof value === "string" && value !== "" ? secretVariable(name, where, report, about) : {};
}

/** The same for a secret that is needed here whether or not Pomerium's file had it. */
export function secretVariable(
  name: string,
  where: string,
  report: ImportReport,
  about: string,
): Record<string, string> {
  const variable = where
    .replace(/^route /, "")
    .replaceAll(/[^A-Za-z0-9]+/g, "_")
    .replaceAll(/^_|_$/g, "")
    .toUpperCase();
  report("secret", where, `environment variable ${variable}${about === "" ? "" : `, ${about}`}`);
  return { [secretNames(name)[1]]: `env:${variable}` };
}

/** The form `x_file`: the file stays in its place. */
export function secretFile(name: string, path: unknown, where: string, report: ImportReport): Record<string, string> {
  if (typeof path !== "string" || path === "") return {};
  if (!path.startsWith("/")) {
    report("lost", where, `the path "${path}" is relative, write ${name}_ref: file:/… with an absolute one`);
    return {};
  }
  report("secret", where, `file ${path}, which the gateway must be able to read`);
  return { [secretNames(name)[1]]: `file:${path}` };
}
