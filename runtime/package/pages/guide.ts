/** Parts of runtime/guide/: clients, providers and policy operators, from the gateway's own data. */
import { readdirSync, readFileSync } from "node:fs";

import { EVENTS } from "../../audit/events.ts";
import { clientRecipes, KNOWN_CLIENTS } from "../../features/mcp/known-clients.ts";
import type { Facts } from "../../policy/facts.ts";
import { compilePolicy, evaluate } from "../../policy/evaluate.ts";
import { OPERATORS, type Operator } from "../../policy/parse.ts";
import { CLIENTS } from "../../tools/doctor/clients.ts";
import { code, table } from "./parts.ts";

const PROVIDERS = new URL("../../../examples/identity-providers/", import.meta.url);
const README = readFileSync(new URL("../../../README.md", import.meta.url), "utf8");

/** In the usual order of interest. */
const PROVIDER_NAMES: Readonly<Record<string, string>> = {
  google: "Google",
  entra: "Microsoft Entra ID",
  okta: "Okta",
  auth0: "Auth0",
  keycloak: "Keycloak",
  github: "GitHub, through Dex",
};

/** @returns page below runtime/guide/ → its parts */
export function guideParts(): Readonly<Record<string, Readonly<Record<string, string>>>> {
  return {
    "provider-examples": { providers: providers() },
    "mcp-clients": {
      "claude-code-recipe": fenced("text", RECIPES.find(({ client }) => client === FIRST_CLIENT)?.text ?? "", "   "),
      "client-recipes": clientRecipeList(),
      "client-documents": clientDocuments(),
      "client-registrations": clientRegistrations(),
    },
    install: {
      "first-services": readmeBlock("sh", "npm start -- --services"),
      "first-file": readmeBlock("yaml", "# gateway.yaml"),
      "first-run": readmeBlock("sh", "gateway run --config gateway.yaml"),
    },
    policy: { truth: truthTable() },
  };
}

/** Events, for runtime/operations/webhook.md. */
export function webhookParts(): Readonly<Record<string, string>> {
  const rows = Object.entries(EVENTS).map(([type, { doc }]) => [code(type), doc]);
  return { events: table(["Event", "Sent when"], rows) };
}

function providers(): string {
  const files = readdirSync(PROVIDERS).filter((file) => file.endsWith(".yaml"));
  const named = Object.keys(PROVIDER_NAMES).map((name) => `${name}.yaml`);
  if (files.toSorted().join() !== named.toSorted().join())
    throw new Error("Cannot make the guide: a provider is missing");
  return Object.entries(PROVIDER_NAMES)
    .map(([name, title]) => {
      const text = readFileSync(new URL(`${name}.yaml`, PROVIDERS), "utf8");
      return `## ${title}\n\n\`\`\`yaml\n${text.trim()}\n\`\`\``;
    })
    .join("\n\n");
}

/** The client whose command is in the steps. */
const FIRST_CLIENT = "Claude Code";
/** Same list as the page of an MCP address. */
const RECIPES = clientRecipes("github", "https://github.mcp.example.com/", []);

function clientRecipeList(): string {
  return RECIPES.filter(({ client }) => client !== FIRST_CLIENT)
    .map(({ client, where, text }) => `- **${client}.** ${where}:\n\n${fenced("text", text, "  ")}`)
    .join("\n");
}

/** The README's block that has these words, as part of a step: the laptop's steps are the same there and here. */
function readmeBlock(language: string, words: string): string {
  const blocks = README.matchAll(/^```([a-z]+)\n([^]*?)\n```$/gm);
  const found = [...blocks].find(([, name, text = ""]) => name === language && text.includes(words));
  if (!found) throw new Error(`Cannot make the guide: the README has no block with "${words}"`);
  return fenced(language, found[2] ?? "", "   ");
}

/** Commands and files of other programs are "text", which our tests do not run. */
function fenced(language: string, text: string, indent: string): string {
  const lines = [`\`\`\`${language}`, ...text.split("\n"), "```"];
  return lines.map((line) => (line === "" ? "" : `${indent}${line}`)).join("\n");
}

function clientDocuments(): string {
  const rows = KNOWN_CLIENTS.map(({ name, domain, document, isLockedOut }) => [
    name,
    code(domain),
    code(document),
    isLockedOut === true ? "no: list its domain, or it cannot connect" : "yes",
  ]);
  return table(["Client", "Domain to allow", "Client ID", "Registers itself where its document is refused"], rows);
}

function clientRegistrations(): string {
  const rows = CLIENTS.filter(({ byRegistration }) => byRegistration.length > 0).map(({ name, redirectUris }) => {
    const uris =
      redirectUris?.map(code).join(", ") ?? "loopback, any port: `http://127.0.0.1:PORT/…`, `http://localhost:PORT/…`";
    const needed = (redirectUris ?? []).filter((uri) => !/^https?:/.test(uri));
    return [
      name,
      uris,
      needed.length === 0 ? "nothing" : `${needed.map(code).join(", ")} in \`mcp_allowed_private_redirect_uris\``,
    ];
  });
  return table(["Client that registers itself", "Redirect URIs", "Setting it needs"], rows);
}

const USER = { id: "u", email: "a@example.com", name: "", groups: [], claims: {} };
const HTTP = { method: "GET", path: "/", host: "app.example.com", ip: "192.0.2.1" };

/** A is about the user (`email`), so that it can be unknown; B is about the request. */
const CASES: readonly (readonly [a: "true" | "false" | "unknown", b: boolean])[] = [
  ["true", true],
  ["true", false],
  ["false", true],
  ["false", false],
  ["unknown", true],
  ["unknown", false],
];

const MEANINGS: Readonly<Record<Operator, string>> = {
  and: "all are true",
  or: "at least one is true",
  not: "all are false",
  nor: "at least one is false",
};

function truthTable(): string {
  const rows = CASES.map(([a, b]) => [a, String(b), ...OPERATORS.map((operator) => truthOf(operator, a, b))]);
  const head = OPERATORS.map((operator) => `${code(operator)}: ${MEANINGS[operator]}`);
  return table(["A", "B", ...head], rows);
}

/** Result of a rule with this operator over A and B, from the gateway's own engine, under allow and under deny. */
function truthOf(operator: Operator, a: "true" | "false" | "unknown", b: boolean): string {
  const criteria = [
    { email: { is: a === "false" ? "b@example.com" : USER.email } },
    { http_method: { is: b ? "GET" : "PUT" } },
  ];
  const facts: Facts = { http: HTTP, ...(a === "unknown" ? {} : { user: USER }) };
  const allows = evaluate(compilePolicy([{ allow: { [operator]: criteria } }]), facts).allowed;
  // An unknown result under deny also denies, which distinguishes true, false and unknown.
  const spares = evaluate(
    compilePolicy([{ allow: { and: [{ accept: true }] }, deny: { [operator]: criteria } }]),
    facts,
  ).allowed;
  return allows ? "**true**" : spares ? "false" : "unknown";
}
