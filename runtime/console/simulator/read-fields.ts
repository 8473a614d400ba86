/** Fields of an address or a form of the simulator → a question. */
import type { SimulatorFields } from "../../pages/console/policy/simulator.ts";
import type { RouteChoice } from "../../simulation/protocol.ts";
import type { Question } from "../../simulation/explain/question.ts";

const DEFAULTS: SimulatorFields = {
  route: "",
  address: "",
  who: "imagined",
  person: "",
  user: "",
  email: "",
  groups: "",
  claims: "",
  actor: "",
  actor_claims: "",
  method: "",
  path: "",
  message: "http",
  name: "",
  arguments: "",
  device: "",
  device_id: "",
  ip: "",
};

const NAMES = Object.keys(DEFAULTS) as readonly (keyof SimulatorFields)[];

export function readFields(given: ReadonlyMap<string, string>): SimulatorFields {
  const read = NAMES.map((name) => [name, given.get(name)?.replaceAll("\r\n", "\n") || DEFAULTS[name]] as const);
  return Object.fromEntries(read) as unknown as SimulatorFields;
}

/** A route is chosen. */
export function isAsked({ route, address }: SimulatorFields): boolean {
  return route !== "" || address !== "";
}

export type FieldsReading =
  | { readonly ok: true; readonly route: RouteChoice; readonly question: Question; readonly person: string | undefined }
  | { readonly ok: false; readonly problem: string };

export function readAsked(fields: SimulatorFields): FieldsReading {
  const choice = routeOf(fields);
  if (typeof choice === "string") return { ok: false, problem: choice };
  const { who, message, name, method } = fields;
  const path = "key" in choice ? fields.path || "/" : choice.path;
  const isHttp = message === "http";
  const isKnown = who === "known" && fields.person !== "";
  if (who === "known" && !isKnown) return { ok: false, problem: "Enter an email or a user ID" };
  const question: Question = {
    user: fields.user || fields.email || "any-user",
    email: fields.email,
    groups: fields.groups
      .split(",")
      .map((group) => group.trim())
      .join(","),
    ...(fields.claims !== "" && { claim: linesOf(fields.claims) }),
    ...(fields.actor !== "" && { actor: fields.actor }),
    ...(fields.actor_claims !== "" && { actorClaim: linesOf(fields.actor_claims) }),
    ...(who === "anonymous" && { anonymous: true }),
    ...deviceOf(fields),
    method: isHttp ? method || "GET" : "POST",
    path,
    ...("host" in choice && { host: choice.host }),
    ...(fields.ip !== "" && { ip: fields.ip.trim() }),
    // Servers read absent arguments as an empty object.
    ...(message === "tool" && { tool: name, arguments: fields.arguments.trim() || "{}" }),
    ...(message === "prompt" && { prompt: name }),
    ...(message === "resource" && { resource: name }),
    ...(!isHttp && message !== "tool" && method !== "" && { mcpMethod: method }),
  };
  if (message === "method" && method === "") return { ok: false, problem: "Enter an MCP method" };
  return { ok: true, route: choice, question, person: isKnown ? fields.person.trim() : undefined };
}

function linesOf(text: string): readonly string[] {
  return text.split("\n").filter((line) => line.trim() !== "");
}

/** @returns the problem */
function routeOf({ route, address }: SimulatorFields): RouteChoice | string {
  if (address === "") return { key: route.trim() };
  const url = URL.parse(address.trim());
  if (!url || !/^https?:$/.test(url.protocol)) return "The address must start with https://";
  return { host: url.host, path: url.pathname };
}

function deviceOf({ device, device_id: id }: SimulatorFields): Partial<Question> {
  if (device === "" && id === "") return {};
  return {
    ...(id !== "" && { device: id }),
    ...(device.startsWith("approved") && { deviceApproved: true }),
    deviceType: device.includes("enclave") ? "enclave_only" : "any",
  };
}

/** The other way round, of an example. */
export function fieldsOf(question: Partial<Question>, route: string): Partial<SimulatorFields> {
  const { tool, prompt, resource, mcpMethod, anonymous, user, email, groups, claim, ip, method, path } = question;
  const message =
    tool !== undefined
      ? "tool"
      : prompt !== undefined
        ? "prompt"
        : resource !== undefined
          ? "resource"
          : mcpMethod !== undefined
            ? "method"
            : "http";
  return {
    route,
    who: anonymous === true ? "anonymous" : "imagined",
    user: user ?? "",
    email: email ?? "",
    groups: groups ?? "",
    claims: (claim ?? []).join("\n"),
    actor: question.actor ?? "",
    actor_claims: (question.actorClaim ?? []).join("\n"),
    message,
    method: mcpMethod ?? method ?? "",
    path: message === "http" ? (path ?? "") : "",
    name: tool ?? prompt ?? resource ?? "",
    arguments: question.arguments ?? "",
    ip: ip ?? "",
  };
}

/** The address of a question, without default values. */
export function addressOf(path: string, fields: Partial<SimulatorFields>, draft?: string): string {
  const given = NAMES.flatMap((name) => {
    const value = fields[name] ?? "";
    return value === "" || value === DEFAULTS[name] ? [] : [[name, value]];
  });
  const query = new URLSearchParams([...given, ...(draft === undefined ? [] : [["draft", draft]])]).toString();
  return query === "" ? path : `${path}?${query}`;
}
