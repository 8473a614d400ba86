/** Synthesizes the program and asks the gateway's own code what it would send. One line per step. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { synthBundle } from "../../cdktf/testing.ts";
import { compileRoute, compileSettings } from "../../runtime/config/compile.ts";
import type { CompiledRoute } from "../../runtime/config/compiled.ts";
import { formatProblem, loadSlices } from "../../runtime/config/load.ts";
import { renderTemplate } from "../../runtime/config/template.ts";
import { createSteps } from "../demo/steps.ts";
import { buildHeaders } from "./gateway.ts";

const steps = createSteps();
const outdir = await mkdtemp(join(tmpdir(), "gateway-headers-"));
const { app, stack } = buildHeaders(outdir);
const routes = new Map<string, CompiledRoute>();

function route(name: string): CompiledRoute {
  const found = routes.get(name);
  if (!found) throw new Error(`Cannot find route "${name}"`);
  return found;
}

/** The request header as the route sets it, with recognisable values for what is known per request. */
function sent(name: string, header: string): string | undefined {
  const value = route(name).requestHeaders.set.find((each) => each.name === header)?.value;
  if (!value) return undefined;
  return renderTemplate(value, {
    accessToken: "ACCESS",
    idToken: "ID",
    clientCertFingerprint: "FINGERPRINT",
    jwt: () => "JWT",
    requestHeader: (lowerName) => `(${lowerName})`,
  });
}

await steps.step("the program synthesizes cdk.tf.json and gateway.bundle.json", async () => {
  app.synth();
  const folder = join(outdir, "stacks", "headers");
  const json = await readFile(join(folder, "cdk.tf.json"), "utf8");
  steps.ok(json.includes("$${gateway.access_token}"), "the substitution must be escaped for Terraform");
  const bundle = JSON.parse(await readFile(join(folder, "gateway.bundle.json"), "utf8")) as object;
  steps.equal(JSON.stringify(bundle), JSON.stringify(synthBundle(stack)));
});

await steps.step("the gateway accepts the bundle", async () => {
  const text = await readFile(join(outdir, "stacks", "headers", "gateway.bundle.json"), "utf8");
  const { problems, config } = loadSlices([{ file: "gateway.bundle.json", text, boot: false }]);
  if (!config) throw new Error(problems.map(formatProblem).join("; "));
  const secrets = { resolve: refuse, open: refuse };
  const settings = compileSettings(config.settings, secrets);
  for (const each of config.routes) routes.set(each.name, compileRoute(each, settings, secrets));
  return `${routes.size} routes`;
});

await steps.step("preserveHostHeader passes the caller's Host", async () => {
  steps.equal(route("preserved").hostRule.kind, "preserve");
});
await steps.step("hostRewrite sets a fixed Host", async () => {
  const rule = route("fixed").hostRule;
  steps.equal(rule.kind === "fixed" && rule.value, "www.example.com");
});
await steps.step("hostRewriteHeader takes Host from a request header", async () => {
  const rule = route("by-header").hostRule;
  steps.equal(rule.kind === "header" && rule.name, "x-original-host");
});
await steps.step("hostPathRegexRewritePattern and -Substitution derive Host from the path", async () => {
  const rule = route("by-path").hostRule;
  const host = rule.kind === "path-regex" && rule.apply("/tenant-a.internal/index.html");
  steps.equal(host, "tenant-a.internal");
  return String(host);
});
await steps.step("setRequestHeaders sends text as it stands and fills in substitutions", async () => {
  steps.equal(sent("request", "X-Plan"), "pro ($5)");
  steps.equal(sent("request", "X-User-Token"), "Bearer ACCESS");
  steps.equal(sent("request", "X-Identity"), "JWT");
  steps.equal(sent("request", "X-Browser"), "seen: (user-agent)");
  return ["X-Plan", "X-User-Token", "X-Browser"].map((name) => `${name}: ${sent("request", name)}`).join("; ");
});
await steps.step("removeRequestHeaders names what is taken away", async () => {
  steps.equal([...route("request").requestHeaders.remove].toSorted().join(), "x-debug,x-internal");
});
await steps.step("setResponseHeaders of the route wins over the gateway's", async () => {
  const set = new Map(route("response").responseHeaders.set.map(({ lower, value }) => [lower, value]));
  steps.equal(set.get("x-frame-options"), "DENY");
  steps.equal(set.get("referrer-policy"), "no-referrer");
});
await steps.step("rewriteResponseHeaders replaces the beginning of Location", async () => {
  const [rule] = route("response").responseHeaders.rewrite;
  steps.equal(rule?.lower, "location");
  steps.equal(rule?.prefix, "http://app.internal:8080/");
  steps.equal(rule?.value, "https://response.example.com/");
});

await rm(outdir, { recursive: true });
process.exitCode = steps.end();

function refuse(): never {
  throw new Error("this program has no secrets");
}
