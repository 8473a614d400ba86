/** Taking over a slice that is published already. */
import { basename, dirname } from "node:path";

import { GatewayError } from "../errors.ts";
import { adminToken, type Connection } from "./admin-token.ts";
import { publishedValues } from "./bundle-document.ts";
import { gatewayTls } from "./gateway-tls.ts";
import type { StateOutcome } from "./provider.ts";
import { createHttpTarget } from "./publish-http.ts";
import { createFileTarget, type Target } from "./publish.ts";
import { NO_ROUTES } from "./routes-state.ts";
import { ROUTES_ATTRIBUTE } from "./schema.ts";
import type { ValueMap } from "./value.ts";

interface Place {
  readonly owner: string;
  readonly target: Target;
  readonly values: ValueMap;
}

/** At the end of an id: the routes are taken into the attribute, not into blocks. */
const AS_ATTRIBUTE = `#${ROUTES_ATTRIBUTE}`;

/**
 * @param id path of the slice, or its address at a gateway; with `#routes` for configurations that have them there
 * @throws GatewayError `terraform.import`, `publish.read`, `publish.token`
 */
export async function importBundle(id: string, connection: Connection): Promise<StateOutcome> {
  const refusal = (reason: string): GatewayError =>
    new GatewayError("terraform.import", `Cannot import "${id}": ${reason}`);
  const isAttribute = id.endsWith(AS_ATTRIBUTE);
  const address = isAttribute ? id.slice(0, -AS_ATTRIBUTE.length) : id;
  const place = /^https?:/.test(address) ? httpPlace(address, connection) : filePlace(address);
  if (!place) {
    throw refusal(
      'the id must be the path of a slice, such as "/etc/gateway/slices/my-team.json", or its address at a gateway, such as "http://127.0.0.1:9901/config/slices/my-team"',
    );
  }
  const { owner, target, values } = place;
  const published = await target.read();
  if (published.kind === "absent") {
    throw refusal(values["file"] ? "there is no such file" : "nothing is published there");
  }
  if (published.kind === "unreadable") throw refusal(published.reason);
  const { document } = published;
  if (document["owner"] !== owner) throw refusal(`it holds the slice of owner ${JSON.stringify(document["owner"])}`);
  return {
    state: {
      owner,
      seal_key: null,
      file: null,
      http: null,
      ...values,
      generation: 1,
      ...publishedValues(published, isAttribute ? { [ROUTES_ATTRIBUTE]: NO_ROUTES } : {}),
    },
    diagnostics: [],
  };
}

function filePlace(id: string): Place | undefined {
  const directory = dirname(id);
  const owner = basename(id, ".json");
  if (!id.endsWith(".json") || owner === "") return undefined;
  const target = createFileTarget({ directory, owner, mode: undefined });
  return { owner, target, values: { file: { directory, mode: null } } };
}

function httpPlace(id: string, connection: Connection): Place | undefined {
  const [, url, owner] = /^(https?:\/\/.+?)\/+config\/slices\/([^/?#]+)$/.exec(id) ?? [];
  if (url === undefined || owner === undefined) return undefined;
  const target = createHttpTarget({
    url,
    owner,
    token: () => adminToken(null, connection),
    tls: () => gatewayTls(connection),
  });
  return { owner, target, values: { http: { url, token_ref: null } } };
}
