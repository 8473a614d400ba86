/**
 * List resource `gateway_bundle`: published slices, for `terraform query`. With `include_resource`, results have the
 * routes, policies and hosts of each slice as an import reads them, without secrets in plain text.
 */
import { readdir } from "node:fs/promises";

import { isRecord } from "../../shared/is-record.ts";
import { isOwner } from "../../features/process/owners.ts";
import { attempting, errorText, GatewayError } from "../../shared/errors.ts";
import type { Diagnostic } from "../protocol/diagnostics.ts";
import type { ListedResource, ListResource, ResourceIdentity } from "../protocol/provider.ts";
import { isList, isMap, mapValues, type Value, type ValueMap } from "../protocol/value.ts";
import type { AdminConnection } from "../publish/admin-token.ts";
import { askAdmin, reasonOf } from "../publish/ask-admin.ts";
import { addressDiagnostics } from "../publish/http-rules.ts";
import type { SchemaBlock } from "../schema/schema-model.ts";
import { bundleListSchema, bundleSchema } from "../schema/schema.ts";
import { bundleIdentity } from "./bundle-identity.ts";

export function createBundleList(connection: AdminConnection): ListResource {
  const identity = bundleIdentity(connection);
  return {
    schema: bundleListSchema,
    validate: (config) => [...problemsOf(config)],
    async *list(config, { limit, withState }) {
      const { url, directory } = config;
      const owners = typeof directory === "string" ? await ownersIn(directory) : await ownersAt(config, connection);
      const place =
        typeof directory === "string"
          ? { directory, url: null }
          : { directory: null, url: (url as string).replace(/\/+$/, "") };
      for (const owner of owners.slice(0, limit)) {
        const listed = { name: owner, identity: { owner, ...place } };
        yield withState ? { ...listed, ...(await stateOf(identity, listed.identity)) } : listed;
      }
    },
  };
}

/** An invalid slice must not hide the others. */
async function stateOf(
  identity: ResourceIdentity,
  of: ValueMap,
): Promise<Pick<ListedResource, "state" | "diagnostics">> {
  try {
    const { state, diagnostics } = await identity.importState(of);
    return { state: state && withoutSecrets(bundleSchema, state), diagnostics };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { diagnostics: [{ severity: "warning", summary: "Cannot read a slice", detail: errorText(error) }] };
  }
}

/** `terraform query -json` prints also what the schema calls sensitive. */
function withoutSecrets(block: SchemaBlock, value: ValueMap): ValueMap {
  const secrets = new Set(block.attributes.filter(({ sensitive }) => sensitive).map(({ name }) => name));
  const nested = new Map(block.blocks.map((each) => [each.name, each]));
  return mapValues(value, (member, name) => {
    if (secrets.has(name)) return null;
    const { nesting, block: inner } = nested.get(name) ?? {};
    if (inner === undefined) return member;
    const within = (each: Value): Value => (isMap(each) ? withoutSecrets(inner, each) : each);
    if (isList(member)) return member.map(within);
    return nesting === "map" && isMap(member) ? mapValues(member, within) : within(member);
  });
}

async function ownersIn(directory: string): Promise<readonly string[]> {
  const what = `Cannot list the slices in "${directory}"`;
  const names = await attempting("bundle.list", what, () => readdir(directory));
  const owners = names.flatMap((name) => (name.endsWith(".json") ? [name.slice(0, -".json".length)] : []));
  return owners.filter(isOwner).sort();
}

async function ownersAt(config: ValueMap, connection: AdminConnection): Promise<readonly string[]> {
  const question = { method: "GET", path: "/config/slices", code: "bundle.list" };
  const answer = await askAdmin(config, connection, question);
  const slices = answer.body?.["slices"];
  if (answer.status !== 200 || !Array.isArray(slices)) {
    throw new GatewayError(
      "bundle.list",
      `Cannot list the slices of the gateway at "${answer.base}": it answered ${answer.status}${reasonOf(answer)}`,
    );
  }
  const owners = slices.flatMap((slice: unknown) => (isRecord(slice) ? [slice["owner"]] : []));
  return owners
    .filter((owner) => typeof owner === "string")
    .filter(isOwner)
    .sort();
}

function* problemsOf(config: ValueMap): Iterable<Diagnostic> {
  const summary = "Invalid list of bundles";
  const given = [config["url"], config["directory"]].filter((value) => value !== null && value !== undefined);
  if (given.length !== 1) yield { severity: "error", summary, detail: 'Set either "url" or "directory".' };
  yield* addressDiagnostics(config, summary, "Possible problem with the address");
}
