/** Imports a slice that is already published. */
import { basename, dirname } from "node:path";

import { GatewayError } from "../../shared/errors.ts";
import { adminToken, type AdminConnection } from "../publish/admin-token.ts";
import { publishedValues } from "./bundle-document.ts";
import { publishUrlProblem } from "../publish/http-rules.ts";
import { gatewayTls } from "../publish/gateway-tls.ts";
import type { StateOutcome } from "../protocol/provider.ts";
import { createHttpTarget } from "../publish/publish-http.ts";
import { createFileTarget, type PublishTarget } from "../publish/publish.ts";
import { NO_ROUTES } from "./routes-state.ts";
import { ROUTES_ATTRIBUTE } from "../schema/schema.ts";
import type { ValueMap } from "../protocol/value.ts";

/** A published slice, and the values of the target's block in a bundle. */
export interface SlicePlace {
  readonly owner: string;
  readonly target: PublishTarget;
  readonly values: ValueMap;
}

/** Suffix of an ID: imports the routes into the attribute, not into blocks. */
const AS_ATTRIBUTE = `#${ROUTES_ATTRIBUTE}`;

const ID_EXPECTED =
  'the id must be the path of a slice, such as "/etc/gateway/slices/my-team.json", or its address at a gateway, such as "http://127.0.0.1:9901/config/slices/my-team"';

/**
 * @param id path of the slice, or its URL at a gateway; with `#routes` for configurations that have routes in the attribute
 * @throws GatewayError `terraform.import`, `publish.read`, `publish.token`
 */
export async function importBundle(id: string, connection: AdminConnection): Promise<StateOutcome> {
  const isAttribute = id.endsWith(AS_ATTRIBUTE);
  const address = isAttribute ? id.slice(0, -AS_ATTRIBUTE.length) : id;
  const place = /^https?:/.test(address) ? placeOfAddress(address, connection) : placeOfPath(address);
  if (!place) throw importRefusal(id, ID_EXPECTED);
  return importFrom(place, id, isAttribute ? { [ROUTES_ATTRIBUTE]: NO_ROUTES } : {});
}

/**
 * @param said the ID or identity as written by the user, for messages
 * @param form a state in whose form the routes are imported
 * @throws GatewayError as above
 */
export async function importFrom(
  { owner, target, values }: SlicePlace,
  said: string,
  form: ValueMap = {},
): Promise<StateOutcome> {
  const published = await target.read();
  if (published.kind === "absent") {
    throw importRefusal(said, values["file"] ? "there is no such file" : "nothing is published there");
  }
  if (published.kind === "unreadable") throw importRefusal(said, published.reason);
  const { document } = published;
  if (document["owner"] !== owner) {
    throw importRefusal(said, `it holds the slice of owner ${JSON.stringify(document["owner"])}`);
  }
  return {
    state: {
      owner,
      seal_key: null,
      file: null,
      http: null,
      ...values,
      generation: 1,
      ...publishedValues(published, form),
    },
    diagnostics: [],
    kept: published.claim ?? "",
  };
}

export function importRefusal(said: string, reason: string): GatewayError {
  // A URL may contain a password.
  const shown = said.replace(/\/\/.*@/, "//…@");
  return new GatewayError("terraform.import", `Cannot import "${shown}": ${reason}`);
}

function placeOfPath(path: string): SlicePlace | undefined {
  const owner = basename(path, ".json");
  return path.endsWith(".json") && owner !== "" ? sliceInDirectory(dirname(path), owner) : undefined;
}

function placeOfAddress(address: string, connection: AdminConnection): SlicePlace | undefined {
  const [, url, owner] = /^(https?:\/\/.+?)\/+config\/slices\/([^/?#]+)$/.exec(address) ?? [];
  return url === undefined || owner === undefined ? undefined : sliceOfGateway(url, owner, connection);
}

export function sliceInDirectory(directory: string, owner: string): SlicePlace {
  const target = createFileTarget({ directory, owner, mode: undefined });
  return { owner, target, values: { file: { directory, mode: null } } };
}

/** @throws GatewayError `terraform.import` */
export function sliceOfGateway(url: string, owner: string, connection: AdminConnection): SlicePlace {
  const problem = publishUrlProblem(url);
  if (problem !== undefined) throw importRefusal(owner, `"url" ${problem}`);
  const target = createHttpTarget({
    url,
    owner,
    token: () => adminToken(null, connection),
    tls: () => gatewayTls(connection),
  });
  return { owner, target, values: { http: { url, token_ref: null } } };
}
