/**
 * Policies as typed values.
 *
 * Each factory gives exactly the data that a file has under `policy`, so what is written here, what `terraform plan` shows
 * and what the proxy evaluates is one document:
 *
 * ```ts policy: [allow(domain.is("example.com")), deny(mcpTool.startsWith("delete_"))] ```
 *
 * A request is allowed when an allow rule matches and no deny rule does; an approve rule holds a tool call until a user
 * approves it. `mcpTool` is false for everything that is not a tool call, so it belongs under `deny`: an allowlist of tools
 * is `deny(mcpTool.notIn([...]))`.
 */
import { Criterion } from "./policy-rule.ts";

/** The operators of a criterion on one text. */
export interface TextCriterion {
  is(value: string): Criterion;
  isNot(value: string): Criterion;
  startsWith(prefix: string): Criterion;
  endsWith(suffix: string): Criterion;
  contains(part: string): Criterion;
  in(values: readonly string[]): Criterion;
  notIn(values: readonly string[]): Criterion;
}

function textCriterion(name: string, more: Readonly<Record<string, true>> = {}): TextCriterion {
  const make = (operator: string) => (value: string | readonly string[]) =>
    new Criterion(name, { [operator]: value, ...more });
  return {
    is: make("is"),
    isNot: make("not"),
    startsWith: make("starts_with"),
    endsWith: make("ends_with"),
    contains: make("contains"),
    in: make("in"),
    notIn: make("not_in"),
  };
}

/** The operators of a criterion on a list: of texts, or of claims' values, whose numbers and flags are compared as text. */
export interface ListCriterion<Element = string> {
  /** The list has this element. */
  has(value: Element): Criterion;
  /** The list has this element and no other. */
  is(value: Element): Criterion;
  /** The list does not have this element. */
  exclude(value: Element): Criterion;
}

function listCriterion<Element = string>(name: string): ListCriterion<Element> {
  const make = (operator: string) => (value: Element) => new Criterion(name, { [operator]: value });
  return { has: make("has"), is: make("is"), exclude: make("exclude") };
}

/** The user's ID at the identity provider (claim `sub`). */
export const user = textCriterion("user");
/** The identity provider of the user: its name in `identityIssuers`, "default" for `idpProviderUrl`. */
export const idp = textCriterion("idp");
/** The user's email address, compared in lower case. */
export const email = textCriterion("email");
/** The part of the user's email address after the "@", compared in lower case. */
export const domain = textCriterion("domain");
/** The user's groups from the identity provider. */
export const groups = listCriterion("groups");
/** A claim of the user by its path, such as `claim("department")`; a claim with one value is a list of one. */
export const claim = (path: string): ListCriterion<string | number | boolean> => listCriterion(`claim/${path}`);
/** The workload that acts for the user in an agent run: `workload:<issuer name>/<sub>`; false for requests without a run. */
export const actor = textCriterion("actor");
/** A claim of that workload by its name in `claims` or `identifiedBy` of its rule; false for requests without a run. */
export const actorClaim = (name: string): ListCriterion<string | number | boolean> =>
  listCriterion(`actor_claim/${name}`);
/** The tool of an MCP `tools/call`; false for every other request, so it belongs under `deny`. */
export const mcpTool: Omit<TextCriterion, "isNot"> & {
  /** The same without case sensitivity, for servers that compare names this way. */
  readonly foldCase: Omit<TextCriterion, "isNot">;
} = { ...textCriterion("mcp_tool"), foldCase: textCriterion("mcp_tool", { fold_case: true }) };

/** Reviewed classes of the called tool, from the tool lock. Unknown for a tool without reviewed classes. */
export const mcpToolClass = listCriterion<"read" | "write" | "destructive" | "external" | "sensitive" | "untrusted">(
  "mcp_tool_class",
);

/** Conditions on an argument, all of which must match. For a value of another type they are unknown, and allow nothing. */
export interface ArgumentValue {
  /** Equal to this. @default - anything */
  readonly is?: string | number | boolean;
  /** A value of the same type that is not equal to it. @default - anything */
  readonly not?: string | number | boolean;
  /** Equal to one of these. @default - anything */
  readonly in?: readonly (string | number | boolean)[];
  /** A value of the type of one of these, and equal to none. @default - anything */
  readonly notIn?: readonly (string | number | boolean)[];
  /** A text that contains this. @default - anything */
  readonly contains?: string;
  /** A text that starts with this. @default - anything */
  readonly startsWith?: string;
  /** A text that ends with this. @default - anything */
  readonly endsWith?: string;
  /** A text that this RE2 pattern matches as a whole. @default - anything */
  readonly matches?: string;
  /** A number above this one; as text if it has more digits than a `number` keeps. @default - anything */
  readonly gt?: number | string;
  /** A number that is this one or above. @default - anything */
  readonly gte?: number | string;
  /** A number below this one. @default - anything */
  readonly lt?: number | string;
  /** A number that is this one or below. @default - anything */
  readonly lte?: number | string;
  /** An object without other members than these. @default - anything */
  readonly only?: readonly string[];
}

/** An argument of some tools, and conditions on its value. */
export interface McpToolArgumentProps extends ArgumentValue {
  /** The tools: a name, or operators on it. */
  readonly tool:
    | string
    | {
        readonly is?: string;
        readonly in?: readonly string[];
        readonly startsWith?: string;
        readonly foldCase?: boolean;
      };
  /** Location in the arguments, as a JSON pointer: `/repo`, `/filter/0/name`; `""` for all of them. */
  readonly argument: string;
  /** Whether the argument is present. @default - it is, if another condition is written */
  readonly exists?: boolean;
  /** A list with at least one element that matches this. @default - anything */
  readonly some?: ArgumentValue;
  /** A list with elements that all match this. @default - anything */
  readonly every?: ArgumentValue;
}

/** An argument in calls of these tools; false for other tools, unknown if it cannot be determined. */
export const mcpToolArgument = (props: McpToolArgumentProps): Criterion =>
  new Criterion("mcp_tool_argument", snakeCased(props));
/** The prompt that an MCP message gets or completes; false for every other request. */
export const mcpPrompt = textCriterion("mcp_prompt");
/** The URI of the resource that an MCP message reads, subscribes to or completes; false for every other request. */
export const mcpResource = textCriterion("mcp_resource");
/** The URI of the skill, or of one of its `skill:` files, that an MCP message gets, reads or subscribes to; false for every other request. */
export const mcpSkill = textCriterion("mcp_skill");
/** The method of an MCP message, such as `resources/read`; false for every other request. */
export const mcpMethod = textCriterion("mcp_method");
/** The HTTP method. */
export const httpMethod = textCriterion("http_method");
/** The request path without the query; case-sensitive. */
export const httpPath = textCriterion("http_path");
/** The address of the peer is one of these IP addresses or CIDR ranges. */
export const sourceIp = (...ranges: readonly string[]): Criterion => new Criterion("source_ip", ranges);

/** Any signed-in user. */
export const authenticatedUser = (): Criterion => new Criterion("authenticated_user", true);
/** All requests, signed in or not. */
export const accept = (): Criterion => new Criterion("accept", true);
/** No request. */
export const reject = (): Criterion => new Criterion("reject", true);
/** A CORS preflight: OPTIONS with `Origin` and `Access-Control-Request-Method`. */
export const corsPreflight = (): Criterion => new Criterion("cors_preflight", true);

/** Conditions on registered devices: all must match one device, and at least one must be written. */
export interface DeviceProps {
  /**
   * The device with this ID, as shown on its user's page and by `gateway devices list`.
   * @default - any device
   */
  readonly is?: string;
  /**
   * Whether an administrator has approved it (`gateway devices approve`).
   * @default - approved or not
   */
  readonly approved?: boolean;
  /**
   * Type of the registration: `enclave_only` is part of its host and verifies the user; `any` is every type.
   * @default - any
   */
  readonly type?: "any" | "enclave_only";
}

/** The browser session has verified a registered device, and this one. Programs and MCP clients never have. */
export const device = (props: DeviceProps): Criterion => new Criterion("device", snakeCased(props));

/** Conditions on client certificates: all must match. */
export interface CertificateProps {
  /**
   * SHA-256 of the certificate, as 64 hex digits or 32 pairs joined by colons; one of several.
   * @default - any certificate
   */
  readonly fingerprint?: string | readonly string[];
  /**
   * Base64 of the SHA-256 of the public key, which stays when a certificate is renewed with its key; one of several.
   * @default - any key
   */
  readonly spkiHash?: string | readonly string[];
  /**
   * One of its email addresses (subject alternative names): the text itself, or operators.
   * @default - any
   */
  readonly sanEmail?: CertificateName;
  /**
   * One of its DNS names.
   * @default - any
   */
  readonly sanDns?: CertificateName;
  /**
   * One of its URIs.
   * @default - any
   */
  readonly sanUri?: CertificateName;
}

/** A text that equals the name, or operators on the name. */
export type CertificateName =
  | string
  | {
      readonly is?: string;
      readonly startsWith?: string;
      readonly endsWith?: string;
      readonly contains?: string;
      readonly in?: readonly string[];
    };

/** A valid client certificate that matches these conditions. Needs `downstream_mtls` in the file of `gateway run`. */
export const clientCertificate = (props: CertificateProps): Criterion =>
  new Criterion("client_certificate", snakeCased(props));
/** The client presented no certificate, or one that no authority of `downstream_mtls` signed. Belongs under `deny`. */
export const invalidClientCertificate = (): Criterion => new Criterion("invalid_client_certificate", true);

function snakeCased(value: object): Record<string, unknown> {
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(
    entries.map(([name, member]: [string, unknown]) => [
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      typeof member === "object" && member !== null && !Array.isArray(member) ? snakeCased(member) : member,
    ]),
  );
}
