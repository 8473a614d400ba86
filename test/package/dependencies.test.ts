/**
 * What is installed: every package is the one of the lock file, by its checksum, from the public registry; its licence
 * is one that we accept; and nothing runs at its installation but what is named here.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { imageBill } from "../../runtime/package/build.ts";
import type { Bill } from "../../runtime/package/sbom.ts";

const root = new URL("../../", import.meta.url).pathname;

interface LockEntry {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly inBundle?: boolean;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly license?: string;
  readonly hasInstallScript?: boolean;
}

interface About {
  readonly name?: string;
  readonly version?: string;
  readonly license?: unknown;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly gypfile?: boolean;
  readonly allowScripts?: Readonly<Record<string, boolean>>;
}

const readJson = (path: string): unknown => JSON.parse(readFileSync(path, "utf8"));

const lock = readJson(join(root, "package-lock.json")) as { readonly packages: Readonly<Record<string, LockEntry>> };
const entries = Object.entries(lock.packages).filter(([place]) => place !== "");
/** Those of other platforms are not installed. */
const installed = entries.flatMap(([place, entry]) => {
  const path = join(root, place, "package.json");
  return existsSync(path) ? [{ place, entry, about: readJson(path) as About }] : [];
});

const nameOf = (place: string): string => place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);

/** What may go to our users: terms that ask for no more than to keep the text. */
const SHIPPED = new Set(["Apache-2.0", "MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "BlueOak-1.0.0"]);
/** For what only who works on it installs, besides: nothing of it is in what we publish. */
const FOR_WORK = new Set([...SHIPPED, "MPL-2.0", "CC0-1.0", "Unlicense", "PSF-2.0", "(MIT OR CC0-1.0)"]);
/** Packages whose licence is not said by its SPDX id. */
const BY_NAME: Readonly<Record<string, { readonly license: string; readonly why: string }>> = {
  "@modelcontextprotocol/inspector": {
    license: "SEE LICENSE IN LICENSE",
    why: "its text says MIT for what is older, Apache-2.0 for what is newer",
  },
  "node-forge": { license: "(BSD-3-Clause OR GPL-2.0)", why: "of acme-client; taken under BSD-3-Clause" },
  jsonify: { license: "Public Domain", why: "in the bundle of cdktf; its author claims no rights" },
};

/** May run a script when they are installed, or could and may not, as `allowScripts` of package.json says. */
const SCRIPTS: Readonly<Record<string, { readonly runs: boolean; readonly why: string }>> = {
  node: {
    runs: true,
    why: "puts the binary of its platform's package into place: the Node that tests and builds run in",
  },
  esbuild: { runs: false, why: "puts its binary where a script that starts it stands, which does as well" },
  protobufjs: { runs: false, why: "only compares version schemes" },
  "@modelcontextprotocol/inspector": { runs: false, why: "installs what its web pages need, which nothing here opens" },
};

describe("the lock file", () => {
  test("has a SHA-512 of every package, or of the one that has it in its bundle", () => {
    expect(entries.length).toBeGreaterThan(500);
    const bundledIn = (place: string): LockEntry | undefined => {
      const at = place.slice(0, place.indexOf("/node_modules/"));
      return lock.packages[at];
    };
    const unchecked = entries.filter(([place, { integrity, inBundle }]) => {
      const sum = inBundle === true ? bundledIn(place)?.integrity : integrity;
      return !/^sha512-[A-Za-z0-9+/]{86}==$/.test(sum ?? "");
    });
    expect(unchecked).toEqual([]);
  });

  test("takes everything from the registry, none from a folder, a repository or another host", () => {
    // The lock file names no host, so that a mirror of the registry serves as well: the checksums say what it is.
    const elsewhere = entries.filter(([, { resolved, link }]) => link === true || resolved !== undefined);
    expect(elsewhere).toEqual([]);
    // Which registry is npm's own default as long as nothing here says another.
    expect(readdirSync(root).filter((name) => /^\.(npm|yarn|pnpm)rc|^\.yarnrc/.test(name))).toEqual([]);
    const about = readJson(join(root, "package.json")) as Record<string, unknown>;
    expect(about).not.toHaveProperty("publishConfig");
    const wanted = Object.entries({ ...(about["dependencies"] as object), ...(about["devDependencies"] as object) });
    expect(wanted.filter(([, range]) => !/^[\^~<>= .\d]+(-alpha\.\d+)?$/.test(String(range)))).toEqual([]);
  });

  test("is what is installed", () => {
    expect(installed.length).toBeGreaterThan(500);
    const missing = entries.filter(
      ([place, { optional }]) => optional !== true && !existsSync(join(root, place, "package.json")),
    );
    expect(missing.map(([place]) => place)).toEqual([]);
    const other = installed.filter(({ entry, about }) => about.version !== entry.version);
    expect(other.map(({ place, about }) => `${place}: ${about.version}`)).toEqual([]);
  });
});

describe("licences", () => {
  test("of all packages are accepted, and fewer of those shipped to users", () => {
    const refused = entries.filter(([place, { license = "", dev }]) => {
      const accepted = dev === true ? FOR_WORK : SHIPPED;
      return !accepted.has(license) && BY_NAME[nameOf(place)]?.license !== license;
    });
    expect(refused.map(([place, { license }]) => `${place}: ${license}`)).toEqual([]);
  });

  test("in the packages are those of the lock file", () => {
    const other = installed.filter(({ entry, about }) => {
      const said = typeof about.license === "string" ? about.license : undefined;
      return said !== undefined && said !== entry.license;
    });
    expect(other.map(({ place, about }) => `${place}: ${String(about.license)}`)).toEqual([]);
  });

  test("are named one by one only where that is needed", () => {
    const names = new Set(entries.map(([place]) => nameOf(place)));
    expect(Object.keys(BY_NAME).filter((name) => !names.has(name))).toEqual([]);
  });
});

describe("scripts at installation", () => {
  const { allowScripts = {} } = readJson(join(root, "package.json")) as About;

  test("are in packages that are named here, by the lock file's word and by the packages' own", () => {
    const byLock = entries.filter(([, { hasInstallScript }]) => hasInstallScript === true).map(([place]) => place);
    const byPackage = installed
      .filter(({ place, about }) => {
        const { preinstall, install, postinstall } = about.scripts ?? {};
        // npm builds what has this file and no script of its own.
        const builds = about.gypfile !== false && existsSync(join(root, place, "binding.gyp"));
        return (preinstall ?? install ?? postinstall) !== undefined || builds;
      })
      .map(({ place }) => place);
    const names = new Set([...byLock, ...byPackage].map(nameOf));
    expect([...names].filter((name) => !Object.hasOwn(SCRIPTS, name))).toEqual([]);
    expect(Object.keys(SCRIPTS).filter((name) => !names.has(name))).toEqual([]);
  });

  test("run as package.json lets them: of one package alone", () => {
    expect(allowScripts).toEqual(Object.fromEntries(Object.entries(SCRIPTS).map(([name, { runs }]) => [name, runs])));
    expect(Object.entries(SCRIPTS).flatMap(([name, { runs }]) => (runs ? [name] : []))).toEqual(["node"]);
  });

  test("of our own are none: installing the package runs nothing", () => {
    const { scripts = {} } = readJson(join(root, "package.json")) as About;
    const atInstall = ["preinstall", "install", "postinstall", "prepare"];
    expect(atInstall.filter((name) => Object.hasOwn(scripts, name))).toEqual([]);
  });
});

test("the bill of the container image names its base, and has the same bytes twice", async () => {
  const text = await imageBill("a gateway");
  expect(await imageBill("a gateway")).toBe(text);
  const { components, dependencies } = JSON.parse(text) as Bill;
  const dockerfile = readFileSync(join(root, "examples/container/Dockerfile"), "utf8");
  const [base, self] = components.slice(-2);
  expect(dockerfile).toContain(`\nFROM ${base?.name}:${base?.version}\n`);
  expect(self).toMatchObject({ type: "application", name: "gateform" });
  // The Ingress controller's need, and what that needs: of the package's own bill they are no part.
  const refs = components.map((component) => component["bom-ref"]);
  for (const name of ["@kubernetes/client-node", "js-yaml", "pg"])
    expect(refs).toContainEqual(expect.stringMatching(`^${name}@`));
  expect(refs.filter((ref) => /^(typescript|vitest|cdktf|cdktn|constructs)@/.test(ref))).toEqual([]);
  expect(new Set(refs).size).toBe(refs.length);
  const known = new Set([...refs, ...dependencies.map(({ ref }) => ref)]);
  expect(dependencies.flatMap(({ dependsOn = [] }) => dependsOn).filter((ref) => !known.has(ref))).toEqual([]);
});
