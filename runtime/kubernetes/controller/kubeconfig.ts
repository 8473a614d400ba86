/**
 * Token files: `tokenFile` of a kubeconfig, which the client's library ignores, and the pod's, which it caches for a minute.
 */
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";

import { parse } from "yaml";

import { isRecord } from "../../shared/is-record.ts";

/** Default files, as in kubectl. */
export function usualFiles(environment: NodeJS.ProcessEnv = process.env): readonly string[] {
  const named = (environment["KUBECONFIG"] ?? "").split(delimiter).filter(Boolean);
  return named.length > 0 ? named : [join(homedir(), ".kube", "config")];
}

/**
 * @param user of the current context
 * @returns path of the file with its token; undefined if it has none
 */
export async function findTokenFile(files: readonly string[], user: string): Promise<string | undefined> {
  for (const file of files) {
    const text = await readFile(file, "utf8").catch(() => "");
    const config: unknown = parse(text);
    const users: unknown = isRecord(config) ? config["users"] : undefined;
    const found = (Array.isArray(users) ? users : []).find((each) => isRecord(each) && each["name"] === user) as
      | { readonly user?: { readonly tokenFile?: unknown } | null }
      | undefined;
    if (found === undefined) continue;
    // If two files contain the same user, the first one counts.
    const path = found.user?.tokenFile;
    return typeof path === "string" && path !== "" ? resolve(dirname(file), path) : undefined;
  }
  return undefined;
}

/** @param provider of the user, in the library's form. @returns the token file of the pod's service account */
export function mountedTokenFile(provider: unknown): string | undefined {
  const config = isRecord(provider) && provider["name"] === "tokenFile" ? provider["config"] : undefined;
  const path = isRecord(config) ? config["tokenFile"] : undefined;
  return typeof path === "string" ? path : undefined;
}
