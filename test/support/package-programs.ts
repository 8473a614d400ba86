/** Programs of the package's users, for the project in which it is installed. */

/** A program of constructs, with one mistake that types must find. @param body more of it */
export const app = (framework: "cdktf" | "cdktn", body = ""): string => `
import { writeFileSync } from "node:fs";
import { App, LocalBackend, TerraformStack } from "${framework}";
import * as gateform from "gateform/${framework}";
import {
  allow, deny, domain, Gateway, type GatewayProps, headerValue, gatewayToken, literal, McpServerRoute, mcpTool, Route,
} from "gateform/${framework}";
import { expectAllow, expectDeny, synthBundle } from "gateform/${framework}/testing";

/** A program of constructs, with one mistake that types must find. @param body more of it */
export const app = new App({ outdir: "out-${framework}" });
const stack = new TerraformStack(app, "main");
new LocalBackend(stack, { path: "terraform.tfstate" });
const settings: GatewayProps = { owner: "team", runtimeFlags: { mcp: true } };
const gateway = new Gateway(stack, "gateway", settings);
new Route(gateway, "wiki", {
  from: "https://wiki.example.com",
  to: "http://wiki.internal",
  policy: [allow(domain.is("example.com"))],
  setRequestHeaders: { "X-Token": headerValue\`Bearer \${gatewayToken.accessToken}\`, "X-Literal": literal("\${x} 100%") },
});
const tools = new McpServerRoute(gateway, "tools", {
  from: "https://tools.example.com",
  to: "http://tools.internal",
  policy: [allow(domain.is("example.com")), deny(mcpTool.startsWith("delete_"))],
});
expectAllow(tools, { email: "a@example.com", tool: "read" });
expectDeny(tools, { email: "a@example.com", tool: "delete_all" });
const { routes } = synthBundle(stack);
if (Object.keys(routes).join() !== "tools,wiki") throw new Error(JSON.stringify(routes));
${body}
app.synth();
// @ts-expect-error -- types are known here: a wrong prop is an error
export const wrong: gateform.RouteProps = { from: "https://a.example.com", to: "http://a", nonsense: true };
`;

export const VERIFY = `
import { type AssertionClaims, verifyAssertion } from "gateform/verify";
export type Claims = AssertionClaims;
if (typeof verifyAssertion !== "function") throw new Error("verifyAssertion");
`;

export const TSCONFIG = {
  compilerOptions: {
    module: "nodenext",
    target: "es2024",
    lib: ["es2024", "dom"],
    types: ["node"],
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
  },
};
