/**
 * `vault`: the Vault or OpenBao server of secret references (`vault:<mount>/<path>#<field>`), and this gateway's login
 * there. Only in the main configuration file: a slice must not choose the server for secrets.
 */
import { block } from "../../settings/types/block.ts";
import { quotedProblem } from "../../settings/types/checks.ts";
import { textList } from "../../settings/types/list.ts";
import { type ShapeDoc, type WithDefaults, withDefaults } from "../../settings/types/registry.ts";
import { duration, file, text, url } from "../../settings/types/scalar.ts";
import { secret } from "../../settings/types/secret.ts";
import { errorAt, quote, type UnplacedProblem } from "../../settings/problem.ts";
import { secretNames } from "../../settings/secret-forms.ts";
import { accepted, overTlsOrLoopback, parseDuration, parseOrigin } from "../../settings/values.ts";
import { isVaultReference, parseVaultReference } from "../../settings/vault-reference.ts";

/** Kubernetes path of a pod's service account token. */
const SERVICE_ACCOUNT_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token";

const DEFAULT_REFRESH = "5m";

const pathProblem = (value: string): string | undefined =>
  parseVaultReference(`vault:${value}/x#x`) ? undefined : `is ${quote(value)}, must be a path such as "team/kv"`;

const authMount = (name: string) =>
  text({ doc: "Mount path of the authentication method, below `auth/`.", default: name, check: pathProblem });

const role = text({
  doc: "Role to log in with.",
  required: true,
  check: (value) => (value === "" ? "is empty, must be the name of a role" : undefined),
});

const loginShape = {
  kubernetes: block(
    {
      role,
      token_file: file({
        doc: "Service account token file, read at each login.",
        default: SERVICE_ACCOUNT_TOKEN,
      }),
      mount: authMount("kubernetes"),
    },
    { doc: "Logs in with a Kubernetes service account.", unset: "none" },
  ),
  jwt: block(
    {
      role,
      token_file: file({
        doc: "File with a JWT of the platform for this host or job, read at each login.",
        required: true,
      }),
      mount: authMount("jwt"),
    },
    { doc: "Logs in with a JWT that the server can verify.", unset: "none" },
  ),
  approle: block(
    {
      role_id: text({
        doc: "RoleID of the AppRole.",
        required: true,
        check: (value) => (value === "" ? "is empty, must be a RoleID" : undefined),
      }),
      ...secret("secret_id", {
        doc: "SecretID of the AppRole. Cannot be a `vault:` reference.",
        unset: "none (role without SecretID)",
      }),
      mount: authMount("approle"),
    },
    { doc: "Logs in with an AppRole.", unset: "none" },
  ),
  token_file: file({
    doc: "File with a token that another process renews, such as an agent's sink.",
    unset: "none",
  }),
};

export const vaultShape = {
  vault: block(
    {
      address: url({
        doc: "Origin of the server, such as `https://vault.example.com:8200`. `http://` on loopback only.",
        required: true,
        read: (value) => overTlsOrLoopback(parseOrigin(value)),
      }),
      ca_file: text({
        doc: "CA file (PEM) for the server's certificate.",
        unset: "system CAs",
        check: (value) => (/^\/[^\0]+$/.test(value) ? undefined : `is ${quote(value)}, must be an absolute path`),
      }),
      namespace: text({
        doc: "Namespace for login and secrets (`X-Vault-Namespace`).",
        unset: "root namespace",
        // Vault and OpenBao list them with a trailing slash.
        check: (value) => pathProblem(value.replace(/\/$/, "")),
      }),
      login: block(loginShape, { doc: "Authentication method. Set exactly one.", required: true }),
      mounts: textList({
        doc: "KV version 2 mounts with several path segments, such as `team/kv`.",
        unset: "none",
        check: (value) =>
          pathProblem(value) === undefined ? undefined : quotedProblem(value, 'must be like "team/kv"'),
      }),
      refresh: duration({
        doc: "Approximate time between reads of a secret, randomized per gateway. At least `10s`.",
        default: DEFAULT_REFRESH,
        minMs: 10_000,
      }),
      keep: duration({
        doc: "Maximum age of a secret that cannot be read; then its slice is omitted. At least `1m` and `refresh`.",
        unset: "unlimited",
        minMs: 60_000,
      }),
    },
    {
      doc: "Vault or OpenBao server (KV version 2) for references `vault:<mount>/<path>#<field>`.",
      unset: "none",
    },
  ),
};

export type VaultDoc = NonNullable<ShapeDoc<typeof vaultShape>["vault"]>;

/** How to obtain a token. */
export type VaultLogin =
  | { readonly kind: "jwt"; readonly mount: string; readonly role: string; readonly tokenFile: string }
  | { readonly kind: "approle"; readonly mount: string; readonly roleId: string }
  | { readonly kind: "token-file"; readonly tokenFile: string };

export interface VaultSettings {
  readonly origin: string;
  readonly caFile: string | undefined;
  readonly namespace: string | undefined;
  readonly login: VaultLogin;
  /** Longest first, as segments. */
  readonly mounts: readonly (readonly string[])[];
  readonly refreshMs: number;
  /** Maximum age of a value since its last read; infinite if not set. */
  readonly keepMs: number;
}

const WAYS = Object.keys(loginShape)
  .filter((name) => !name.startsWith("secret_id"))
  .map((name) => quote(name))
  .join(", ");

export function* vaultRules(
  settings: Partial<ShapeDoc<typeof vaultShape>> & Readonly<Record<string, unknown>>,
): Iterable<UnplacedProblem> {
  const { vault } = settings;
  if (!vault) return;
  const ways = Object.keys(vault.login);
  if (ways.length !== 1) {
    const has = ways.length === 0 ? "names no way" : `names ${ways.map((way) => quote(way)).join(" and ")}`;
    yield errorAt(["vault", "login"], `${has}, must have one of ${WAYS}`);
  }
  const { refreshMs, keepMs } = timesOf(vault);
  if (keepMs < refreshMs) yield errorAt(["vault", "keep"], 'is shorter than "refresh", must be as long at least');
  const { approle } = vault.login;
  if (!approle) return;
  const path = ["vault", "login", "approle"];
  const [, reference, sealed] = secretNames("secret_id");
  if (approle[reference] !== undefined && isVaultReference(approle[reference]))
    yield errorAt([...path, reference], "is what opens the server, must not be read from it");
  // The key that opens the seal would come from the server that the seal gives access to.
  const opensSeals = ["shared_secret_ref", "previous_shared_secret_ref"].flatMap((name) => settings[name] ?? []);
  if (approle[sealed] !== undefined && opensSeals.some((each) => typeof each === "string" && isVaultReference(each)))
    yield errorAt([...path, sealed], 'requires "shared_secret", which is itself read from the server');
}

/** Compiles a validated block. */
export function compileVault(written: VaultDoc): VaultSettings {
  const { vault } = withDefaults(vaultShape, { vault: written });
  const { address, ca_file: caFile, namespace, login } = vault as NonNullable<typeof vault>;
  return {
    origin: accepted(parseOrigin(address)).origin,
    caFile,
    namespace: namespace?.replace(/\/$/, ""),
    login: compileLogin(login as LoginDoc),
    mounts: (written.mounts ?? []).map((mount) => mount.split("/")).toSorted((a, b) => b.length - a.length),
    ...timesOf(written),
  };
}

function timesOf(written: Pick<VaultDoc, "refresh" | "keep">): Pick<VaultSettings, "refreshMs" | "keepMs"> {
  const { refresh = DEFAULT_REFRESH, keep } = written;
  return {
    refreshMs: accepted(parseDuration(refresh)),
    keepMs: keep === undefined ? Infinity : accepted(parseDuration(keep)),
  };
}

type LoginDoc = WithDefaults<typeof loginShape>;

function compileLogin({ kubernetes, jwt, approle, token_file: tokenFile }: LoginDoc): VaultLogin {
  const byJwt = kubernetes ?? jwt;
  if (byJwt) return { kind: "jwt", mount: byJwt.mount, role: byJwt.role, tokenFile: byJwt.token_file };
  if (approle) return { kind: "approle", mount: approle.mount, roleId: approle.role_id };
  return { kind: "token-file", tokenFile: tokenFile ?? "" };
}
