/**
 * `gateway client …` and `gateway service-account …`: clients and service accounts that an administrator creates and
 * deletes.
 */
import { readFile } from "node:fs/promises";

import { CLIENT, type Client } from "../../administration/kinds/client.ts";
import { SERVICE_ACCOUNT } from "../../administration/kinds/service-account.ts";
import { parseClientIdDomains } from "../../features/mcp/known-clients.ts";
import { parseDuration } from "../../settings/values.ts";
import { attempting, GatewayError } from "../../shared/errors.ts";
import { kidProblem, parseKeySet } from "../../shared/key-set.ts";
import { isClientIdUrl } from "../../oauth/server/clients/client-document.ts";
import { createClient, listClients } from "../../oauth/server/clients/pre-registered.ts";
import { digestOf } from "../../shared/canonical-json.ts";
import { epochSeconds, timeText } from "../../shared/clock.ts";
import { EVERY_SERVER } from "../../identity/external-token.ts";
import {
  createServiceAccount,
  listServiceAccounts,
  mintServiceAccountToken,
} from "../../identity/tokens/service-accounts.ts";
import { withAdministration, type Administration } from "./administration.ts";
import { endNamed } from "./objects.ts";
import { printError, printLine } from "./output.ts";

export interface ClientOptions {
  readonly config: string;
  readonly name: string;
  readonly issuer?: string;
  readonly redirectUri?: readonly string[];
  readonly machine?: boolean;
  readonly idJag?: boolean;
  readonly email?: string;
  readonly groups?: string;
  readonly owner?: string;
  readonly public?: boolean;
  readonly jwks?: string;
  readonly jwksUri?: string;
}

/** Prints id and secret as JSON, once. @returns exit code */
export function makeClient(options: ClientOptions): Promise<number> {
  return withAdministration(options.config, async (administration) => {
    const { settings } = administration.config;
    const made = await createClient(
      {
        ...administration,
        allowedPrivateUris: settings.mcp_allowed_private_redirect_uris ?? [],
        documentDomains: parseClientIdDomains(settings.mcp_allowed_client_id_domains ?? []),
      },
      {
        name: options.name,
        issuer: options.issuer ?? onlyIssuer(administration),
        redirectUris: options.redirectUri ?? [],
        ...(options.machine === true
          ? { machine: { email: options.email ?? "", groups: groupsOf(options), ...ownerOf(options) } }
          : {}),
        ...(options.idJag === true ? { presentsIdJags: true } : {}),
        ...(options.public === true ? { isPublic: true } : {}),
        ...(options.jwks === undefined ? {} : { jwks: await readKeySet(options.jwks) }),
        ...(options.jwksUri === undefined ? {} : { jwksUri: options.jwksUri }),
      },
    );
    if (!made.ok) throw new GatewayError("commands.client", `Cannot create the client: ${made.problem}`);
    const { clientId, secret } = made;
    const after = await clientDigest(administration, clientId);
    await administration.record({ action: "create", target: `client ${clientId}`, before: null, after });
    printLine(
      JSON.stringify({ client_id: clientId, ...(secret === undefined ? {} : { client_secret: secret }) }, null, 2),
    );
    return 0;
  });
}

/** Accepts IDs of registered clients, and URLs of client ID metadata documents. @returns exit code */
export function revokeClients(ids: readonly string[], options: { readonly config: string }): Promise<number> {
  return withAdministration(options.config, async (administration) => {
    const tell = ({ id }: Client): void => printLine(`client ${id} deleted, with its grants and consents`);
    // A document need not be known: grants for it are revoked.
    const find = async (id: string) => (isClientIdUrl(id) ? { id } : CLIENT.find(administration, id));
    const count = await endNamed({ ...CLIENT, find: (_, id) => find(id) }, administration, ids, tell);
    return count === ids.length ? 0 : 1;
  });
}

export interface ServiceAccountOptions {
  readonly config: string;
  readonly name: string;
  readonly email?: string;
  readonly groups?: string;
  readonly owner?: string;
  readonly expires: string;
  readonly resource?: string;
}

/** Prints the token, once. @returns exit code */
export function makeServiceAccount(options: ServiceAccountOptions): Promise<number> {
  return withAdministration(options.config, async ({ store, clock, externalTokens, record }) => {
    const { name, resource, email = "" } = options;
    const life = parseDuration(options.expires);
    if (!life.ok || life.value < 1000)
      throw new GatewayError("commands.expires", `--expires is ${JSON.stringify(options.expires)}, must be like "90d"`);
    if (resource !== undefined && !URL.canParse(resource)) {
      throw new GatewayError(
        "commands.resource",
        `--resource is ${JSON.stringify(resource)}, must be the address of an MCP server or its origin`,
      );
    }
    const audience = resource === undefined ? EVERY_SERVER : canonicalResource(resource);
    const expiresAt = epochSeconds(clock) + Math.floor(life.value / 1000);
    const made = await createServiceAccount(
      { store, clock },
      { name, email, groups: groupsOf(options), ...ownerOf(options), expiresAt, audience },
    );
    if (!made.ok) {
      throw new GatewayError("commands.name", `Cannot create the service account: ${PROBLEMS[made.reason](options)}`);
    }
    const after = digestOf(made.record);
    await record({ action: "create", target: `service account ${name}`, before: null, after });
    printError(`user "service-account:${name}", valid until ${timeText(expiresAt)}; the token is shown only once`);
    printLine(mintServiceAccountToken(externalTokens, made, audience, expiresAt));
    return 0;
  });
}

/** @param names names or ids @returns exit code */
export function revokeServiceAccounts(names: readonly string[], options: { readonly config: string }): Promise<number> {
  return withAdministration(options.config, async (administration) => {
    const living = await listServiceAccounts(administration.store);
    const ids = new Map(living.map((account) => [account.value.name, SERVICE_ACCOUNT.idOf(account)]));
    const groupIds = names.map((name) => ids.get(name) ?? name);
    const count = await endNamed(SERVICE_ACCOUNT, administration, groupIds, ({ value }) =>
      printLine(`service account ${value.name} deleted`),
    );
    return count === names.length ? 0 : 1;
  });
}

const PROBLEMS: Readonly<Record<"name" | "owner" | "taken", (options: ServiceAccountOptions) => string>> = {
  name: ({ name }) => `name ${JSON.stringify(name)} must be letters, digits, ".", "_" and "-"`,
  owner: () => "--owner must be 1 to 100 printable characters",
  taken: ({ name }) => `name ${JSON.stringify(name)} is taken`,
};

function ownerOf({ owner }: { readonly owner?: string }): { readonly owner?: string } {
  return owner === undefined ? {} : { owner };
}

/** Form of resources in routes: lower-case host, no default port, no slash at the end. */
function canonicalResource(resource: string): string {
  const { origin, pathname } = new URL(resource);
  return origin + pathname.replace(/\/$/, "");
}

function groupsOf({ groups = "" }: { readonly groups?: string }): readonly string[] {
  return groups
    .split(",")
    .map((group) => group.trim())
    .filter((group) => group !== "");
}

/** For the audit. @returns undefined for a client that is not registered here */
async function clientDigest({ store }: Administration, id: string): Promise<string | undefined> {
  const found = (await listClients(store)).find(({ key }) => key === `client:${id}`);
  return found && digestOf(found.value);
}

/** Host of a client, if the files leave no choice. */
function onlyIssuer({ config }: Administration): string {
  const origins = new Set(
    config.routes.filter(({ doc }) => doc.mcp?.server !== undefined).map(({ doc }) => new URL(doc.from).origin),
  );
  const [only] = origins;
  if (only !== undefined && origins.size === 1) return only;
  throw new GatewayError(
    "commands.issuer",
    `Cannot determine the host of the client: give one of ${[...origins].join(", ") || "the MCP hosts"} with --issuer`,
  );
}

async function readKeySet(path: string) {
  const value = await attempting<unknown>("commands.jwks", `Cannot read keys from "${path}"`, async () =>
    JSON.parse(await readFile(path, "utf8")),
  );
  const parsed = parseKeySet(value);
  const problem = parsed.ok ? (parsed.problems[0] ?? kidProblem(parsed.value)) : parsed.problem;
  if (!parsed.ok || problem !== undefined)
    throw new GatewayError("commands.jwks", `Cannot use keys from "${path}": ${problem}`);
  if (parsed.value.keys.length === 0)
    throw new GatewayError("commands.jwks", `Cannot use keys from "${path}": must have a key for signatures`);
  return parsed.value;
}
