/**
 * `kubernetes:///`: the cluster in which this process runs, as the issuer of its service account tokens.
 *
 * The issuer's name comes from this process's own token, its keys from the API server. The process authenticates with
 * that token and verifies the server with the cluster's certificate authority. The URL in the discovery document is not
 * used: pods often cannot reach it. Untrusted input: none. The mounted files belong to the cluster, and nothing of a
 * caller's token is used.
 *
 * @see https://kubernetes.io/docs/tasks/configure-pod-container/configure-service-account, "Service account issuer
 *   discovery"
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { steadyClock, type Clock } from "../shared/clock.ts";
import { errorText } from "../shared/errors.ts";
import { readUnverified } from "./read-unverified.ts";
import { parseForeignJson } from "../shared/json/foreign-json.ts";
import { requestOnce } from "../shared/net/bounded-request.ts";

export interface KubernetesIssuer {
  /** `iss` of the cluster's tokens; undefined while it is unknown. */
  name(): Promise<string | undefined>;
  /** @param host "host:port" to use instead of the API server's own */
  readKeys(host: string | undefined): Promise<ReadKeySet>;
}

export type ReadKeySet =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: string };

/** Location of the files and variables that Kubernetes puts into every container. */
export interface KubernetesMount {
  readonly directory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const IN_A_POD: KubernetesMount = { directory: "/var/run/secrets/kubernetes.io/serviceaccount", env: process.env };
/** The token changes about every hour; its issuer stays the same. */
const FRESH_MS = 60_000;
const RETRY_MS = 10_000;
const TIMEOUT_MS = 10_000;
const MAX_BYTES = 1024 * 1024;
/** Issuer of legacy tokens, which name no audience and expire only with their account. */
const LEGACY_ISSUER = "kubernetes/serviceaccount";

export function createKubernetesIssuer(wallClock: Clock, mount: KubernetesMount = IN_A_POD): KubernetesIssuer {
  const clock = steadyClock(wallClock);
  let known: { readonly name: string | undefined; readonly askAgainAtMs: number } | undefined;
  const read = async (name: string): Promise<string> => (await readFile(join(mount.directory, name), "utf8")).trim();

  const ownIssuer = async (): Promise<string | undefined> => {
    try {
      const issuer = readUnverified(await read("token"))?.issuer;
      return typeof issuer === "string" && issuer !== LEGACY_ISSUER ? issuer : undefined;
    } catch {
      return undefined;
    }
  };

  return {
    async name() {
      if (known && clock.now() < known.askAgainAtMs) return known.name;
      const name = await ownIssuer();
      known = { name, askAgainAtMs: clock.now() + (name === undefined ? RETRY_MS : FRESH_MS) };
      return name;
    },
    async readKeys(host) {
      const { KUBERNETES_SERVICE_HOST: name, KUBERNETES_SERVICE_PORT: port = "443" } = mount.env;
      const server = host ?? (name === undefined ? undefined : `${name.includes(":") ? `[${name}]` : name}:${port}`);
      if (server === undefined) return { ok: false, problem: "the gateway does not run in a pod" };
      try {
        const [token, ca] = await Promise.all([read("token"), read("ca.crt")]);
        return await ask(`https://${server}/openid/v1/jwks`, token, ca);
      } catch (error) {
        return { ok: false, problem: `the files of the service account: ${errorText(error)}` };
      }
    },
  };
}

/** Does not follow redirects: the token is for this server only. */
async function ask(url: string, token: string, ca: string): Promise<ReadKeySet> {
  const refuse = (problem: string): ReadKeySet => ({ ok: false, problem: `the API server: it ${problem}` });
  const answer = await requestOnce(
    { ca, timeoutMs: TIMEOUT_MS },
    {
      url: new URL(url),
      method: "GET",
      headers: { authorization: `Bearer ${token}`, accept: "application/jwk-set+json, application/json" },
      maxBytes: MAX_BYTES,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    },
  );
  if (!answer.ok) return refuse(answer.problem);
  if (answer.head.status !== 200) return refuse(`answered ${answer.head.status}`);
  const value = parseForeignJson(answer.body);
  return value === undefined ? refuse("answered with no JSON") : { ok: true, value };
}
