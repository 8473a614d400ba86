/**
 * The steps of the Dockerfile in a scratch directory, then the container's process: non-root, read-only, health check, and a
 * stop that loses no request. A line per step, then "N passed, N failed". The image itself is not built: its base has to be pulled.
 *
 *   --keep DIRECTORY      the stages are made there, a folder each, and stay
 *   --context DIRECTORY   what is built: an unpacked image context of a release. Default: this repository
 */
import { randomBytes } from "node:crypto";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import { request } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { parse } from "yaml";

import { freePort } from "../../test/support/ports.ts";
import { HOOK_MS } from "../../test/support/limits.ts";
import { makeTestCertificate } from "../../test/support/certificates.ts";
import type { Bill } from "../../runtime/package/sbom.ts";
import { createSteps } from "../demo/steps.ts";
import { until } from "../demo/until.ts";
import { type Container, inside, sealImage, startInside } from "./container.ts";
import { buildStages, type Image, readDockerfile } from "./dockerfile.ts";

const here = new URL("./", import.meta.url).pathname;
const steps = createSteps();
const { values } = parseArgs({ options: { keep: { type: "string" }, context: { type: "string" } } });
const context = values.context ?? join(here, "../..");
const scratch = values.keep ?? (await mkdtemp(join(tmpdir(), "gateway-container-")));
await mkdir(scratch, { recursive: true });
// Another user has to get in.
await chmod(scratch, 0o755);
const port = await freePort();
const adminPort = await freePort();
const bootText = await readFile(`${here}config/gateway.yaml`, "utf8");

/** An application whose answer takes as long as we want. */
const waiting: ServerResponse[] = [];
const application = createServer((incoming, response) => {
  response.writeHead(200, { "content-type": "text/plain" });
  response.write("begun ");
  if (incoming.url === "/slow") waiting.push(response);
  else response.end("done");
});
await new Promise<void>((resolve) => application.listen(0, "127.0.0.1", resolve));

/** The example's boot file, with free ports and a shorter delay, and a slice beside it whose application is ours. */
async function writeConfig(image: Image): Promise<void> {
  const folder = join(image.root, "etc/gateway");
  const secrets = join(image.root, "run/secrets");
  await mkdir(folder, { recursive: true });
  await mkdir(secrets, { recursive: true });
  const certificate = makeTestCertificate({ name: "slow.example.com", dns: ["slow.example.com"] });
  const files = {
    "tls.crt": certificate.cert,
    "tls.key": certificate.key,
    shared_secret: randomBytes(32).toString("base64"),
    idp_client_secret: "of-the-provider",
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(secrets, name), text);
  const text = bootText
    .replace(":8443", `127.0.0.1:${port}`)
    .replace("127.0.0.1:9901", `127.0.0.1:${adminPort}`)
    .replace("drain_delay: 5s", "drain_delay: 3s")
    .replace("file:/run", `file:${image.root}/run`)
    .replace("file:/run", `file:${image.root}/run`)
    .replace("sqlite:/data", `sqlite:${image.root}/data`);
  await writeFile(join(folder, "gateway.yaml"), inside(image, text));
  const to = `http://127.0.0.1:${(application.address() as AddressInfo).port}`;
  const slow = { from: "https://slow.example.com", to, policy: [{ allow: { and: [{ accept: true }] } }] };
  await writeFile(join(folder, "slow.json"), JSON.stringify({ version: 1, owner: "slow", routes: { slow } }));
}

function ask(path: string): { readonly whole: Promise<string>; readonly begun: Promise<void> } {
  const begun = Promise.withResolvers<void>();
  const whole = new Promise<string>((resolve, reject) => {
    const options = {
      host: "127.0.0.1",
      port,
      path,
      servername: "slow.example.com",
      headers: { host: "slow.example.com" },
      rejectUnauthorized: false,
      agent: false,
    };
    const sent = request(options, (answer) => {
      let text = "";
      answer.on("data", (chunk: Buffer) => {
        text += chunk.toString();
        begun.resolve();
      });
      answer.once("error", reject);
      answer.once("end", () => resolve(`${answer.statusCode} ${text}`));
    });
    sent.once("error", reject);
    sent.end();
  });
  whole.catch(begun.reject);
  // Where nobody waits for it.
  begun.promise.catch(() => {});
  return { whole, begun: begun.promise };
}

async function isReady(): Promise<number> {
  return (await fetch(`http://127.0.0.1:${adminPort}/readyz`)).status;
}

let container: Container | undefined;
try {
  const stages = (await steps.step("the Dockerfile can be read, and what it copies exists", () =>
    readDockerfile(join(context, "examples/container/Dockerfile")),
  )) as Awaited<ReturnType<typeof readDockerfile>>;

  const image = await buildStages(stages, {
    context,
    scratch,
    step: (command, run) => steps.step(`RUN ${command}`, run),
  });
  await sealImage(image);
  await writeConfig(image);

  await steps.step("its bill of materials lists what is installed in it, no more and no less", async () => {
    const { components } = JSON.parse(await readFile(join(image.root, "app/sbom.cdx.json"), "utf8")) as Bill;
    const installed = (
      JSON.parse(await readFile(join(image.root, "app/node_modules/.package-lock.json"), "utf8")) as {
        packages: Readonly<Record<string, { readonly version: string }>>;
      }
    ).packages;
    const names = Object.entries(installed).map(
      ([place, { version }]) => `${place.slice(place.lastIndexOf("node_modules/") + 13)}@${version}`,
    );
    const listed = components.filter(({ type }) => type === "library").map((component) => component["bom-ref"]);
    steps.equal(listed.toSorted().join(" "), [...new Set(names)].toSorted().join(" "));
    return `${listed.length} packages`;
  });
  await steps.step("the container's user is not root and can write nowhere but to its volume", async () => {
    steps.match(image.user, /^[1-9]\d*:[1-9]\d*$/);
    const code = `for (const path of ["/app/x", "/app/dist/runtime/x", "/app/package.json"]) {
      try { (await import("node:fs")).writeFileSync(process.argv[1] + path, "", { flag: "a" }); console.log(path); } catch {}
    }`;
    const { output } = await startInside(image, ["node", "--input-type=module", "-e", code, image.root]).ended;
    steps.equal(output, "", "it could write");
    return `as ${image.user}`;
  });
  await steps.step("the Ingress controller finds the Kubernetes client, and misses only its cluster", async () => {
    const kubeconfig = join(image.root, "etc/kubeconfig");
    await writeFile(kubeconfig, JSON.stringify({ apiVersion: "v1", kind: "Config", clusters: [] }));
    const words = ["ingress", "watch", "--publish-directory", image.root, "--kubeconfig", kubeconfig];
    const { code, output } = await startInside(image, image.entrypoint, words).ended;
    steps.equal(code, 1);
    steps.match(output, /the kubeconfig names none/);
    return output.trim();
  });
  container = startInside(image, image.entrypoint, image.command);
  const running = container;
  let hasEnded = false;
  void running.ended.then(() => (hasEnded = true));
  const isHealthy = () => startInside(image, image.healthcheck, [`127.0.0.1:${adminPort}`]).ended;
  await steps.step("the health check, the gateway's own command, turns good", async () => {
    await until(async () => hasEnded || (await isReady()) === 200, "it is ready", HOOK_MS);
    if (hasEnded) throw new Error((await running.ended).output);
    const { code, output } = await isHealthy();
    steps.equal(code, 0);
    return output;
  });
  await steps.step("it serves", async () => {
    const answer = await ask("/").whole;
    steps.equal(answer, "200 begun done");
    return answer;
  });

  const slow = ask("/slow");
  await slow.begun;
  running.process.kill("SIGTERM");
  await steps.step(
    "SIGTERM: first /readyz and the health check turn bad, while requests are still served",
    async () => {
      await until(async () => (await isReady()) === 503, "/readyz says 503", HOOK_MS);
      steps.equal(await ask("/").whole, "200 begun done");
      steps.equal((await isHealthy()).code, 1);
      return "503, and 200 for users";
    },
  );
  await steps.step("then no more requests are taken, and the one under way finishes whole", async () => {
    await until(
      () =>
        ask("/").whole.then(
          () => false,
          () => true,
        ),
      "a connection is refused",
      HOOK_MS,
    );
    steps.ok(!hasEnded, "it ended with a request under way");
    for (const response of waiting) response.end("done");
    const answer = await slow.whole;
    steps.equal(answer, "200 begun done");
    return answer;
  });
  await steps.step("the process ends with exit code 0", async () => {
    steps.equal((await running.ended).code, 0);
  });

  await steps.step(
    "compose.yaml runs it read-only, without capabilities, and waits longer than the drain",
    async () => {
      const { services } = parse(await readFile(`${here}compose.yaml`, "utf8")) as {
        services: { gateway: Record<string, unknown> };
      };
      const { gateway } = services;
      steps.equal(gateway["read_only"], true);
      steps.equal(gateway["user"], image.user);
      steps.equal(String(gateway["cap_drop"]), "ALL");
      const boot = parse(bootText) as Record<string, string>;
      const seconds = (text: unknown): number => Number.parseInt(String(text), 10);
      const drain = seconds(boot["drain_delay"]) + seconds(boot["drain_timeout"]);
      steps.ok(seconds(gateway["stop_grace_period"]) > drain, "stop_grace_period is shorter than the drain");
      return `${String(gateway["stop_grace_period"])} for ${drain} s`;
    },
  );
} finally {
  container?.process.kill("SIGKILL");
  await container?.ended;
  application.closeAllConnections();
  application.close();
  if (values.keep === undefined) await rm(scratch, { recursive: true, force: true });
}
console.log("The image itself was not built: docker build -f examples/container/Dockerfile -t gateway .");
process.exitCode = steps.end();
