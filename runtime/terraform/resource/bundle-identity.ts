/**
 * Identity of a bundle in addition to its state: its owner, and the directory or the gateway that has its slice.
 *
 * Moving a bundle to another target changes its identity; Terraform accepts this like the change of the target. A bundle
 * without a target has no identity.
 */
import { isOwner, OWNER_EXPECTED } from "../../features/process/owners.ts";
import type { AdminConnection } from "../publish/admin-token.ts";
import { importFrom, importRefusal, sliceInDirectory, sliceOfGateway, type SlicePlace } from "./bundle-import.ts";
import type { ResourceIdentity } from "../protocol/provider.ts";
import { isMap, type ValueMap } from "../protocol/value.ts";

export function bundleIdentity(connection: AdminConnection): ResourceIdentity {
  return {
    version: 0,
    attributes: [
      { name: "owner", type: "string", use: "required", doc: "Owner of the slice." },
      { name: "directory", type: "string", use: "optional", doc: "Directory that holds `<owner>.json`." },
      { name: "url", type: "string", use: "optional", doc: "Admin address of the gateway that has the slice." },
    ],
    of: identityOf,
    importState: (identity) => {
      const { said, place } = placeOf(identity, connection);
      return importFrom(place, said);
    },
  };
}

/** @throws GatewayError `terraform.import` */
function placeOf(
  { owner, directory = null, url = null }: ValueMap,
  connection: AdminConnection,
): { readonly said: string; readonly place: SlicePlace } {
  if (typeof owner !== "string" || !isOwner(owner)) {
    throw importRefusal(typeof owner === "string" ? owner : "", `"owner" ${OWNER_EXPECTED}`);
  }
  if (typeof directory === "string" && url === null) {
    return { said: `${owner} in ${directory}`, place: sliceInDirectory(directory, owner) };
  }
  if (typeof url === "string" && /^https?:\/\//.test(url) && directory === null) {
    return { said: `${owner} at ${url}`, place: sliceOfGateway(url, owner, connection) };
  }
  throw importRefusal(
    owner,
    'its identity must have either "directory" or "url", which begins with http:// or https://',
  );
}

function identityOf({ owner, file, http }: ValueMap): ValueMap | undefined {
  if (typeof owner !== "string") return undefined;
  if (isMap(http) && typeof http["url"] === "string") {
    return { owner, directory: null, url: http["url"].replace(/\/+$/, "") };
  }
  if (isMap(file) && typeof file["directory"] === "string") return { owner, directory: file["directory"], url: null };
  return undefined;
}
