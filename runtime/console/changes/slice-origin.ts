/** Origin of an owner's slice: published, and by which tool, or in files. */
import type { Store } from "../../store/store.ts";
import { ownedBy } from "../../bundle/publication.ts";
import { readPublication } from "../../bundle/published.ts";
import type { BundleStatus } from "../../bundle/report.ts";

export interface OriginDeps {
  readonly store: Store;
  readonly status: () => BundleStatus;
}

/** One sentence. @throws GatewayError `store.unavailable` */
export async function sliceOrigin({ store, status }: OriginDeps, owner: string): Promise<string> {
  const { publication } = await readPublication(store);
  const history = publication.owners.find((each) => each.owner === owner);
  const last = history?.versions.at(-1);
  if (history && last?.digest) {
    const { generation, program } = last;
    const from = ownedBy(history);
    const names = { terraform: "a gateway_bundle of Terraform", kubernetes: "the controller of Kubernetes Ingresses" };
    return `Published as generation ${generation}${program === undefined ? "" : ` by ${program}`}; it comes from ${from === undefined ? "no program that publishes again and again" : names[from]}.`;
  }
  const files = status()
    .slices.filter((slice) => slice.owner === owner)
    .map(({ file }) => file.slice(file.lastIndexOf("/") + 1));
  return files.length === 0 ? "This owner has no configuration yet." : `Written in ${files.join(", ")}.`;
}
