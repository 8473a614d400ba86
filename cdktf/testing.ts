/**
 * `gateform/cdktf/testing`: checks a program's published slice and its decisions, in tests.
 *
 * The functions throw with a text that says why, so they work in every test runner. They decide by the engine of the gateway
 * itself.
 */
import type { Slice } from "../runtime/config/slice.ts";
import { otherReadings } from "../runtime/shared/http/target.ts";
import { routePolicy } from "../runtime/policy/access-keys.ts";
import { compilePolicy } from "../runtime/policy/evaluate.ts";
import { explain, formatExplanation } from "../runtime/policy/explain.ts";
import type { CertificateFacts, DeviceFacts, Facts } from "../runtime/policy/facts.ts";
import type { PolicyDoc } from "../runtime/policy/parse.ts";
import { bundleText } from "./synth/bundle-config.ts";
import type { Construct } from "./framework.ts";
import { Gateway } from "./gateway.ts";
import type { DeviceProps } from "./policy.ts";
import { Route } from "./route.ts";
import { hasUnresolved } from "./synth/terraform-text.ts";

/** A request and its caller. Without `email` and `user` the caller is anonymous. */
export interface TestRequest {
  readonly email?: string;
  /** The user's ID at the identity provider. */
  readonly user?: string;
  /** @default [] */
  readonly groups?: readonly string[];
  /** Further claims of the identity. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** The workload that acts for the user in an agent run, and its claims. @default - none */
  readonly actor?: { readonly id: string; readonly claims?: Readonly<Record<string, string | readonly string[]>> };
  /** The tool of an MCP `tools/call`. */
  readonly tool?: string;
  /** The method of another MCP message, such as "tools/list". */
  readonly mcpMethod?: string;
  /** @default "GET", and "POST" with `tool` or `mcpMethod` */
  readonly method?: string;
  /** An OPTIONS request with `Origin` and `Access-Control-Request-Method`. */
  readonly isCorsPreflight?: boolean;
  /** @default "/" */
  readonly path?: string;
  /** Address of the peer. @default "192.0.2.1" */
  readonly ip?: string;
  /** A registered device that the browser session has verified; by default not approved, and of type `any`. @default - none */
  readonly device?: DeviceProps;
  /** The client's certificate; valid by default. @default - none */
  readonly certificate?: Partial<CertificateFacts>;
}

/**
 * The slice that the program publishes, as a gateway would read it.
 *
 * @param scope a stack with one gateway in it, or the gateway itself
 * @throws Error when the program is not valid, or has values that only Terraform knows
 */
export function synthBundle(scope: Construct): Slice {
  const [gateway, ...others] = scope.node.findAll().filter((construct) => construct instanceof Gateway);
  if (!gateway || others.length > 0) {
    throw new Error(
      `Cannot make the bundle of "${scope.node.path}": it has ${others.length + (gateway ? 1 : 0)} gateways, must have one`,
    );
  }
  const problems = gateway.node
    .findAll()
    .flatMap((construct) => construct.node.validate().map((problem) => `[${construct.node.path}] ${problem}`));
  if (problems.length > 0)
    throw new Error(`Cannot make the bundle of "${scope.node.path}":\n  ${problems.join("\n  ")}`);
  const { slice } = gateway;
  if (hasUnresolved(slice)) {
    throw new Error(`Cannot make the bundle of "${scope.node.path}": it has values that only Terraform knows`);
  }
  return JSON.parse(bundleText(slice)) as Slice;
}

/** @throws Error with the rules and their outcome when the policy of the route, or the policy, denies the request */
export function expectAllow(target: Route | PolicyDoc, request: TestRequest): void {
  expectDecision("allowed", target, request);
}

/** @throws Error like `expectAllow()` when the policy allows the request, or would once it is approved */
export function expectDeny(target: Route | PolicyDoc, request: TestRequest): void {
  expectDecision("denied", target, request);
}

/** @throws Error like `expectAllow()` when the policy asks for no approval of the call, or denies it */
export function expectApproval(target: Route | PolicyDoc, request: TestRequest): void {
  expectDecision("pending approval", target, request);
}

function expectDecision(
  expected: "allowed" | "denied" | "pending approval",
  target: Route | PolicyDoc,
  request: TestRequest,
): void {
  const policy = target instanceof Route ? routePolicy(target.document) : target;
  const explanation = explain(compilePolicy(policy), factsOf(request));
  const { allowed, approval } = explanation.decision;
  if (expected === (allowed ? "allowed" : approval ? "pending approval" : "denied")) return;
  const where = target instanceof Route ? ` on route "${target.routeName}"` : "";
  const question = `${subjectOf(request)} ${actionOf(request)}${where}`;
  throw new Error(`Expected to be ${expected}: ${formatExplanation(question, explanation)}`);
}

function factsOf(request: TestRequest): Facts {
  const { email, user, groups = [], claims = {}, tool, mcpMethod, isCorsPreflight = false } = request;
  const { path = "/", ip = "192.0.2.1", certificate, device, actor } = request;
  const otherPaths = otherReadings(path);
  const mcp = tool === undefined ? mcpMethod : "tools/call";
  const isSignedIn = email !== undefined || user !== undefined;
  const method = request.method ?? (isCorsPreflight ? "OPTIONS" : mcp === undefined ? "GET" : "POST");
  return {
    ...(isSignedIn && {
      user: {
        id: user ?? email ?? "",
        email: email ?? "",
        name: "",
        groups,
        claims,
        ...(actor && { actor: { claims: {}, ...actor, run: "test" } }),
      },
    }),
    // As in the gateway: only browser sessions can verify a device.
    ...(isSignedIn && mcp === undefined && device && { devices: [deviceFacts(device)] }),
    http: {
      method,
      path,
      ...(otherPaths && { otherPaths }),
      host: "test.invalid",
      ip,
      isCorsPreflight,
      ...(certificate && {
        certificate: {
          isValid: true,
          fingerprint: "",
          spkiHash: "",
          sanEmail: [],
          sanDns: [],
          sanUri: [],
          ...certificate,
        },
      }),
    },
    ...(mcp !== undefined && { mcp: { method: mcp, ...(tool !== undefined && { tool }) } }),
  };
}

function deviceFacts({ is = "", approved = false, type = "any" }: DeviceProps): DeviceFacts {
  return { id: is, isApproved: approved, type };
}

function subjectOf({ email, user }: TestRequest): string {
  return email ?? user ?? "an anonymous user";
}

function actionOf({ tool, mcpMethod, method = "GET", path = "/" }: TestRequest): string {
  if (tool !== undefined) return `calls ${tool}`;
  return mcpMethod === undefined ? `asks for ${method} ${path}` : `sends ${mcpMethod}`;
}
