/**
 * The bill of materials of the published files (CycloneDX 1.5), by `npm sbom` from the lock file.
 *
 * Without a serial number, a time and the version of npm: two builds of one commit have one bill. npm gets a lock file
 * without development dependencies: for packages that are needed for both, its `--omit dev` drops half, and uses the
 * checksum of either.
 *
 * @see https://cyclonedx.org/docs/1.5/json/
 */
import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Component {
  readonly "bom-ref": string;
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly purl?: string;
  readonly licenses?: readonly object[];
  readonly [more: string]: unknown;
}

interface Dependency {
  readonly ref: string;
  readonly dependsOn?: readonly string[];
}

export interface Bill {
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly Dependency[];
}

/** The subject of a bill. */
export interface Product {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly purl?: string;
  /** Default: "application". */
  readonly type?: "container";
}

/**
 * Runtime dependencies of the package, in the versions of the lock file; the top one's dependencies are the package's
 * own.
 *
 * @param brings names of optional peers that are installed as well
 */
export async function readBill(root: string, brings: readonly string[] = []): Promise<Bill> {
  const read = async (name: string): Promise<object> =>
    JSON.parse(await readFile(join(root, name), "utf8")) as Record<string, unknown>;
  const about = runtimeOnly(await read("package.json"), brings);
  const lock = (await read("package-lock.json")) as { readonly packages: Readonly<Record<string, LockEntry>> };
  const brought = placesNeeded(lock.packages, brings);
  const packages = Object.entries(lock.packages).filter(([place, entry]) => entry.dev !== true || brought.has(place));
  const needed = { ...Object.fromEntries(packages), "": runtimeOnly(lock.packages[""] ?? {}, brings) };
  const directory = await mkdtemp(join(tmpdir(), "gateform-sbom-"));
  try {
    await writeFile(join(directory, "package.json"), JSON.stringify(about));
    await writeFile(join(directory, "package-lock.json"), JSON.stringify({ ...lock, packages: needed }));
    const options = ["--sbom-format=cyclonedx", "--package-lock-only", "--offline", "--loglevel=error"];
    return JSON.parse(execFileSync("npm", ["sbom", ...options], { cwd: directory, encoding: "utf8" })) as Bill;
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** Names and versions of a bill's entries. */
export function refsOf(bill: Bill): readonly string[] {
  return bill.components.map((component) => component["bom-ref"]);
}

/** Without development dependencies, and without optional peers except the given ones. */
function runtimeOnly(about: object, brings: readonly string[]): object {
  const {
    devDependencies: _,
    peerDependencies: peers = {},
    peerDependenciesMeta: __,
    ...rest
  } = about as {
    dependencies?: Names;
    devDependencies?: Names;
    peerDependencies?: Names;
    peerDependenciesMeta?: object;
  };
  const brought = Object.entries(peers).filter(([name]) => brings.includes(name));
  return { ...rest, dependencies: { ...rest.dependencies, ...Object.fromEntries(brought) } };
}

type Names = Readonly<Record<string, string>>;

interface LockEntry {
  readonly dev?: boolean;
  readonly dependencies?: Names;
  readonly optionalDependencies?: Names;
}

/** Locations of these packages and all their dependencies: the nearest enclosing folder, as Node resolves them. */
function placesNeeded(packages: Readonly<Record<string, LockEntry>>, names: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (name: string, from: string): void => {
    for (let base: string | undefined = from; base !== undefined; base = outside(base)) {
      const place = `${base === "" ? "" : `${base}/`}node_modules/${name}`;
      const entry = packages[place];
      if (!entry) continue;
      if (found.has(place)) return;
      found.add(place);
      for (const each of Object.keys({ ...entry.dependencies, ...entry.optionalDependencies })) visit(each, place);
      return;
    }
  };
  for (const name of names) visit(name, "");
  return found;
}

/** The package that contains a package; undefined for the top one. */
function outside(place: string): string | undefined {
  return place === "" ? undefined : place.slice(0, Math.max(0, place.lastIndexOf("/node_modules/")));
}

/**
 * @param needed as returned by `readBill`
 * @param refs the packages that are in the product
 * @param more contents that are not packages
 * @returns the text of the file
 */
export function renderBill(
  needed: Bill,
  product: Product,
  refs: readonly string[],
  more: readonly Component[] = [],
): string {
  const keptRefs = new Set(refs);
  const known = new Set(refsOf(needed));
  const missing = refs.filter((ref) => !known.has(ref));
  if (missing.length > 0)
    throw new Error(`Cannot list what is packed: the package does not need ${missing.join(", ")}`);
  const self = `${product.name}@${product.version}`;
  const top = needed.metadata.component["bom-ref"];
  const edges = needed.dependencies
    .filter(({ ref }) => ref === top || keptRefs.has(ref))
    .map(({ ref, dependsOn = [] }) => ({
      ref: ref === top ? self : ref,
      dependsOn: [
        ...dependsOn.filter((each) => keptRefs.has(each)),
        ...(ref === top ? more.map((component) => component["bom-ref"]) : []),
      ].toSorted(),
    }));
  const licenses = [{ license: { id: "Apache-2.0" } }];
  const bill = {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: { component: { "bom-ref": self, type: "application", ...product, licenses } },
    components: [...needed.components.filter((component) => keptRefs.has(component["bom-ref"])), ...more],
    dependencies: edges,
  };
  return `${JSON.stringify(bill, null, 2)}\n`;
}
