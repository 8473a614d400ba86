/** Taking over a slice that is published already. */
import { basename, dirname } from "node:path";

import { GatewayError } from "../errors.ts";
import { publishedValues } from "./bundle-document.ts";
import type { StateOutcome } from "./provider.ts";
import { createFileTarget } from "./publish.ts";

/** @param id path of the slice. @throws GatewayError `terraform.import`, `publish.read` */
export async function importBundle(id: string): Promise<StateOutcome> {
  const refusal = (reason: string): GatewayError =>
    new GatewayError("terraform.import", `Cannot import "${id}": ${reason}`);
  const directory = dirname(id);
  const owner = basename(id, ".json");
  if (!id.endsWith(".json") || owner === "") {
    throw refusal('the id must be the path of a slice, such as "/etc/gateway/slices/my-team.json"');
  }
  const published = await createFileTarget({ directory, owner, mode: undefined }).read();
  if (published.kind === "absent") throw refusal("there is no such file");
  if (published.kind === "unreadable") throw refusal(published.reason);
  const { document } = published;
  if (document["owner"] !== owner) throw refusal(`it holds the slice of owner ${JSON.stringify(document["owner"])}`);
  return {
    state: {
      owner,
      seal_key: null,
      file: { directory, mode: null },
      generation: 1,
      ...publishedValues(published, {}),
    },
    diagnostics: [],
  };
}
