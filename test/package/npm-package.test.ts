/** The published package in a project of its own: bins, entry points, types, and the snippets of the README. */
import { execFile, execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { loadSlices } from "../../runtime/config/load.ts";
import type { Bill } from "../../runtime/package/sbom.ts";
import { LONG_MS } from "../support/limits.ts";
import { app, TSCONFIG, VERIFY } from "../support/package-programs.ts";
import { runGateway } from "../support/run-gateway.ts";
import { type Framework, type InitProject, initProjects } from "../support/cdktf-init.ts";
import { installPackage, type NpmProject } from "../support/npm-project.ts";
import { QUICK_GO } from "../support/quick-start.ts";
import { terraformMissing } from "../support/terraform.ts";

const root = new URL("../../", import.meta.url).pathname;
const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");

/** Code blocks of a language in the README. */
function snippets(language: string): readonly string[] {
  return [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, "gm"))].map(([, text = ""]) => text);
}

describe("the npm package", { timeout: LONG_MS }, () => {
  let project: NpmProject;
  beforeAll(async () => {
    project = await installPackage(["cdktf", "cdktn", "constructs", "typescript", "@types/node"]);
    project.write("tsconfig.json", JSON.stringify(TSCONFIG));
  }, LONG_MS);
  afterAll(() => project?.close());

  let types: Promise<string> | undefined;
  /** All programs are checked together: most of it is reading what they have in common. */
  const checkTypes = (): Promise<string> => (types ??= writeAndCheck());
  const writeAndCheck = (): Promise<string> => {
    const programs = {
      "main-cdktf.ts": app("cdktf"),
      "main-cdktn.ts": app("cdktn"),
      "verify.ts": VERIFY,
      "readme.ts": app("cdktf", snippets("ts").join("\n")).replace("out-cdktf", "out-readme"),
    };
    for (const [name, text] of Object.entries(programs)) project.write(name, text);
    return project.run("tsc", "-p", ".");
  };

  const node = (...args: string[]): string =>
    execFileSync(process.execPath, args, { cwd: project.directory, encoding: "utf8", timeout: LONG_MS });

  test("is built before it is packed", () => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: object };
    expect(scripts).toMatchObject({ build: "node runtime/package/build.ts", prepack: "npm run build" });
  });

  test("carries what it needs and nothing else", () => {
    const files = readdirSync(join(project.directory, "node_modules/gateform"), { recursive: true }).map(String);
    const surprising = files.filter((file) => file.endsWith(".ts") && !file.endsWith(".d.ts"));
    // The examples are for reading; pages refer to the lists of requirements and threats.
    expect(surprising.filter((file) => !file.startsWith("examples/")).toSorted()).toEqual([
      "test/requirements.ts",
      "test/threats.ts",
    ]);
    expect(files.filter((file) => /(^|\/)(node_modules|cdktf\.out|\.terraform|test\/.*\/.*)(\/|$)/.test(file))).toEqual(
      [],
    );
    expect(files).toEqual(expect.arrayContaining(["README.md", "LICENSE", "CHANGELOG.md", "package.json"]));
    // The maker's own workshop stays at home.
    expect(files.filter((file) => /runtime\/package\/|cdktf\/generate[./]/.test(file))).toEqual([]);
  });

  test("lists what it needs to run, each in the version of the lock file, with its licence", () => {
    const home = join(project.directory, "node_modules/gateform");
    const bill = JSON.parse(readFileSync(join(home, "dist/sbom.cdx.json"), "utf8")) as Bill;
    const licenses = readFileSync(join(home, "dist/THIRD_PARTY_LICENSES.txt"), "utf8");
    const refs = bill.components.map((component) => component["bom-ref"]);
    // What npm has installed for the package and nothing else; those beside it are the project's own.
    const { dependencies } = JSON.parse(readFileSync(join(home, "package.json"), "utf8")) as { dependencies: object };
    const [self] = bill.dependencies;
    expect(self?.ref).toMatch(/^gateform@/);
    expect(self?.dependsOn?.map((ref) => ref.slice(0, ref.lastIndexOf("@")))).toEqual(Object.keys(dependencies));
    const lock = JSON.parse(readFileSync(join(project.directory, "package-lock.json"), "utf8")) as {
      packages: Record<string, { version: string }>;
    };
    const locked = new Set(
      Object.entries(lock.packages).map(([place, { version }]) => `${place.split("node_modules/").at(-1)}@${version}`),
    );
    expect(refs.length).toBeGreaterThan(80);
    expect(refs.filter((ref) => !locked.has(ref))).toEqual([]);
    expect(refs.filter((ref) => /^(typescript|vitest|cdktf|cdktn|constructs)@/.test(ref))).toEqual([]);
    const incomplete = bill.components.filter(({ purl, licenses: licence, hashes }) => !(purl && licence && hashes));
    expect(incomplete).toEqual([]);
    const titles = refs.map((ref) => ref.replace(/@([^@]+)$/, " $1 ("));
    expect(titles.filter((title) => !licenses.includes(`\n${title}`))).toEqual([]);
    // The same bill for each build: nothing of when and where.
    expect(bill).not.toHaveProperty("serialNumber");
    expect(bill.metadata).not.toHaveProperty("timestamp");
  });

  describe("as the container's stages build it, in another directory and next to a separate installation", () => {
    let stages = "";
    let output = "";
    beforeAll(async () => {
      stages = mkdtempSync(join(tmpdir(), "gateway stages-"));
      const command = [join(root, "test/support/run-example.ts"), "container", "--keep", stages];
      const run = promisify(execFile)(process.execPath, command, { cwd: root });
      ({ stdout: output } = await run.catch((error: unknown) => error as { stdout: string }));
    }, LONG_MS);
    afterAll(() => rmSync(stages, { recursive: true, force: true }));

    test("the Dockerfile's steps, a process that is not root, a health check, a stop that loses no request", () => {
      expect(output.split("\n").filter((line) => line.startsWith("FAIL"))).toEqual([]);
      expect(output).toMatch(/^\d+ passed, 0 failed$/m);
      expect(output).toContain("pass  RUN npm install");
      expect(output).toContain("pass  the Ingress controller finds the Kubernetes client");
      expect(output).toContain("pass  SIGTERM: first /readyz and the health check turn bad");
    });

    test("the build has the same bytes", () => {
      const [built, installed] = [
        join(stages, "build/src/dist"),
        join(project.directory, "node_modules/gateform/dist"),
      ];
      const files = readdirSync(installed, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => relative(installed, join(entry.parentPath, entry.name)));
      expect(files.length).toBeGreaterThan(100);
      const different = files.filter((file) => {
        const other = join(built, file);
        return !existsSync(other) || !readFileSync(other).equals(readFileSync(join(installed, file)));
      });
      expect(different).toEqual([]);
    });
  });

  test("the links in its pages lead to what it carries", () => {
    const home = join(project.directory, "node_modules/gateform");
    const pages = readdirSync(home, { recursive: true })
      .map(String)
      .filter((file) => file.endsWith(".md"));
    expect(pages).toEqual(
      expect.arrayContaining([
        "README.md",
        "CHANGELOG.md",
        "cdktf/README.md",
        "examples/README.md",
        ".github/CONTRIBUTING.md",
        "runtime/terraform/README.md",
        ...[
          "DECISIONS",
          "DESIGN",
          "guide/README",
          "operations/README",
          "reference/errors",
          "REFERENCE",
          "SECURITY",
          "UPGRADING",
        ].map((name) => `runtime/${name}.md`),
      ]),
    );
    const links = pages.flatMap((page) =>
      [...readFileSync(join(home, page), "utf8").matchAll(/\]\((?![a-z]+:|#)([^)\s#]+)/g)].map(
        ([, target = ""]) => [page, target] as const,
      ),
    );
    expect(links.length).toBeGreaterThan(20);
    // Pictures would double its size; they are in the repository and on the site.
    const needed = links.filter(([, target]) => !target.startsWith("pictures/"));
    expect(needed.filter(([page, target]) => !existsSync(join(home, dirname(page), target)))).toEqual([]);
  });

  test("bins start: gateway checks the README's configuration, the provider says what it is for", async () => {
    const [yaml = ""] = snippets("yaml");
    project.write("gateway.yaml", yaml);
    expect(await project.run("gateway", "check", "--elsewhere", "gateway.yaml")).toMatch(/^good: 1 route, 0 errors/m);
    expect(await project.run("gateway", "--version")).toMatch(/^\d+\.\d+\.\d+/);
    expect(JSON.parse(await project.run("gateway", "version", "--json"))).toHaveProperty("commit", null);
    const first = ["--url", "https://a.example.com", "--to", "http://b:1/mcp", "--issuer", "https://idp.example.com"];
    expect(await project.run("gateway", "init", "first", "--yes", "--target", "systemd", ...first)).toContain(
      "wrote first/gateway.service",
    );
    expect(JSON.parse(await project.run("gateway", "schema"))).toHaveProperty("$defs");
    await expect(project.run("terraform-provider-gateway")).rejects.toThrow("This program is a Terraform plugin");
  });

  test("serves as few files: workers, threads for configurations, records and SQLite, and code kept for the next start", async () => {
    const home = join(project.directory, "home");
    mkdirSync(home);
    const gateway = await runGateway({
      program: [join(project.directory, "node_modules/gateform/runtime/bin/gateway.js")],
      workers: 2,
      boot: { record_store: {}, audit: true },
      env: { HOME: home, XDG_CACHE_HOME: "", CACHE_DIRECTORY: "", NODE_COMPILE_CACHE: "" },
    });
    try {
      const route = {
        from: "http://a.example.com",
        to: ["http://127.0.0.1:9"],
        policy: [{ allow: { or: [{ accept: true }] } }],
      };
      const slice = JSON.stringify({ version: 1, owner: "team", routes: { a: route } });
      expect(await gateway.admin.publish("team", slice)).toMatchObject({ body: { live: true } });
    } finally {
      await gateway.close();
    }
    expect(await gateway.ended).toBe(0);
    expect(readdirSync(join(home, ".cache/gateform")).map((name) => name.replace(/-.*/, ""))).toEqual(["compiled"]);
    const built = readdirSync(join(project.directory, "node_modules/gateform/dist/runtime"));
    // Whatever is started as a thread or a process has a file of its own.
    expect(built.filter((name) => /(^|-)worker\.js$/.test(name)).toSorted()).toEqual([
      "draft-worker.js",
      "records-worker.js",
      "sqlite-reader-worker.js",
      "sqlite-worker.js",
      "validate-worker.js",
      "worker.js",
    ]);
  });

  test("entry points import, type-check and synthesize the same bundle on cdktf and cdktn", async () => {
    await checkTypes();
    for (const file of ["main-cdktf.ts", "main-cdktn.ts", "verify.ts"]) node(file);
    const read = (framework: string, name: string): string =>
      readFileSync(join(project.directory, `out-${framework}/stacks/main/${name}`), "utf8");
    expect(read("cdktn", "gateway.bundle.json")).toBe(read("cdktf", "gateway.bundle.json"));
    const resource = (framework: string): unknown =>
      (JSON.parse(read(framework, "cdk.tf.json")) as { resource: unknown }).resource;
    expect(resource("cdktn")).toEqual(resource("cdktf"));
    const bundle = join(project.directory, "out-cdktn/stacks/main/gateway.bundle.json");
    expect(await project.run("gateway", "check", "--elsewhere", "gateway.yaml", bundle)).toMatch(
      /^good: 3 routes, 0 errors/m,
    );
  });

  test("the README's constructs type-check, and synthesize the route of its YAML", async () => {
    expect(snippets("ts").join("\n")).toContain("new McpServerRoute(");
    await checkTypes();
    node("readme.ts");
    const bundle = readFileSync(join(project.directory, "out-readme/stacks/main/gateway.bundle.json"), "utf8");
    const [yaml = ""] = snippets("yaml");
    // In a file a route says its name itself, in a slice it stands under it.
    const routeOf = (file: string, text: string): object | undefined => {
      const { config } = loadSlices([{ file, text, boot: file === "gateway.yaml" }]);
      const route = config?.routes.find(({ name }) => name === "github");
      return route && { ...route.doc, name: route.name };
    };
    expect(routeOf("gateway.yaml", yaml)).toMatchObject({ name: "github", from: "https://localhost:8443" });
    expect(routeOf("team.json", bundle)).toEqual(routeOf("gateway.yaml", yaml));
  });

  describe("in a project as the command lines' init makes it", () => {
    let projects: Readonly<Record<Framework, InitProject>> | undefined;
    beforeAll(async () => {
      const made = await initProjects(project.directory);
      if (typeof made === "string") console.log(`skipped: ${made}`);
      else projects = made;
    }, LONG_MS);

    test.for(["cdktf", "cdktn"] as const)("%s: compiles and synthesizes as CommonJS", async (framework, context) => {
      const made = projects?.[framework];
      if (made === undefined) return context.skip("no templates");
      const main = join(made.directory, "main.ts");
      const text = readFileSync(main, "utf8");
      const body = `const gateway = new Gateway(this, "gateway", { owner: "team" });
    const policy = [allow(domain.is("example.com"))];
    new Route(gateway, "wiki", { from: "https://wiki.example.com", to: "http://wiki.internal", policy });
    expectAllow(new Route(gateway, "app", { from: "https://a.example.com", to: "http://a", policy }), {
      email: "a@example.com",
    });`;
      expect(text).toContain("// define resources here");
      writeFileSync(
        main,
        `import { allow, domain, Gateway, Route } from "gateform/${framework}";
import { expectAllow } from "gateform/${framework}/testing";
${text.replace("// define resources here", body)}`,
      );
      // The template's own tsconfig.json: CommonJS and what TypeScript 5 takes for it, "node10".
      await made.run("tsc", ["--noEmit", "--incremental", "false", "-p", "."]);
      await made.run("tsc", ["--noEmit", "--incremental", "false", "-p", ".", "--module", "node16"]);
      // Jest, the template's test runner, loads no ES module by require; nor does Node with this option.
      // Types have just been checked.
      await made.run("ts-node", ["--transpile-only", "main.ts"], { NODE_OPTIONS: "--no-experimental-require-module" });
      const stack = readFileSync(join(made.directory, "cdktf.out/stacks/my-project/cdk.tf.json"), "utf8");
      expect(Object.keys((JSON.parse(stack) as { resource: object }).resource)).toEqual(["gateway_bundle"]);
      return undefined;
    });
  });

  const missing = terraformMissing();
  if (missing !== undefined) console.log(`skipped: the provider of the npm package, ${missing}`);
  test.skipIf(missing !== undefined)("gives Terraform the provider, and a lock file that holds elsewhere", async () => {
    const bin = "node_modules/gateform/runtime/bin/terraform-provider-gateway.js";
    const stack = "out-cdktn/stacks/main";
    const run = { encoding: "utf8", timeout: LONG_MS } as const;
    const terraformIn = (home: string, cwd: string): ((...args: string[]) => string) => {
      const env = {
        PATH: process.env["PATH"],
        HOME: home,
        CHECKPOINT_DISABLE: "1",
        ...QUICK_GO,
        TF_CLI_CONFIG_FILE: join(home, "mirror/terraform.rc"),
      };
      return (...args) => execFileSync("terraform", args, { ...run, cwd, env });
    };
    const initialised = (home: string, ...options: string[]): ((...args: string[]) => string) => {
      const made = execFileSync(process.execPath, [bin, "mirror", "mirror"], { ...run, cwd: home });
      expect(made).toContain("TF_CLI_CONFIG_FILE");
      const terraform = terraformIn(home, join(home, stack));
      terraform("init", "-input=false", ...options);
      return terraform;
    };
    const apply = initialised(project.directory);
    expect(apply("apply", "-auto-approve", "-no-color", "-input=false")).toContain("Apply complete!");

    // The whole HCL configuration that the package carries.
    const begin = join(project.directory, "begin");
    cpSync(join(project.directory, "node_modules/gateform/examples/terraform/one-file"), begin, { recursive: true });
    const applied = terraformIn(project.directory, begin);
    applied("init", "-input=false");
    applied("apply", "-auto-approve", "-input=false", "-var=directory=slices");
    project.write("boot.yaml", "insecure_server: true\n");
    expect(await project.run("gateway", "check", "boot.yaml", "begin/slices/platform.json")).toMatch(
      /^good: 2 routes/m,
    );

    // A colleague: the same package installed elsewhere, the program, and the lock file that was committed.
    const colleague = join(project.directory, "colleague's home");
    const modules = join(project.directory, "node_modules");
    mkdirSync(join(colleague, "node_modules"), { recursive: true });
    cpSync(join(modules, "gateform"), join(colleague, "node_modules/gateform"), { recursive: true });
    for (const name of readdirSync(modules)) {
      if (name !== "gateform") symlinkSync(join(modules, name), join(colleague, "node_modules", name));
    }
    mkdirSync(join(colleague, stack), { recursive: true });
    for (const name of ["cdk.tf.json", ".terraform.lock.hcl"]) {
      cpSync(join(project.directory, stack, name), join(colleague, stack, name));
    }
    const plan = initialised(colleague, "-lockfile=readonly");
    expect(plan("plan", "-no-color", "-input=false")).toContain("1 to add");
  });
});
