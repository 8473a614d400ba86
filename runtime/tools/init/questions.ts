/** Questions of `gateway init`. Each is also an option of the command. */
import { isIP } from "node:net";

export interface InitAnswers {
  /** Address that users open, without a path. */
  readonly url: string;
  readonly to: string;
  readonly kind: "mcp" | "web";
  /** Host of the sign-in pages, as an address. */
  readonly signIn: string;
  readonly issuer: string;
  readonly clientId: string;
  /** Email domain of users with access; "": all signed-in users. */
  readonly domain: string;
  /** Email address of the first operator of the console; "": no console. */
  readonly operator: string;
  readonly storage: "memory" | "sqlite" | "postgres";
  readonly certificates: "none" | "files" | "acme";
  readonly target: "local" | "systemd" | "compose" | "kubernetes";
  readonly program: "none" | "terraform" | "cdktf";
}

export interface InitQuestion {
  readonly name: keyof InitAnswers;
  /** Option of the command, such as "--sign-in <url>". */
  readonly option: string;
  /** For the option's help and as the question. */
  readonly text: string;
  readonly choices?: readonly string[];
  /** @returns undefined: an answer is required */
  readonly fallback: (known: Partial<InitAnswers>) => string | undefined;
  /** @returns why the answer cannot be used, "must be …" */
  readonly problem?: (answer: string, known: Partial<InitAnswers>) => string | undefined;
}

const LOCAL_URL = "http://localhost:8080";

export const QUESTIONS: readonly InitQuestion[] = [
  {
    name: "url",
    option: "--url <url>",
    text: "Address that users open, without a path",
    fallback: () => LOCAL_URL,
    problem: (answer) =>
      originProblem(answer) ??
      (answer.startsWith("https://") || isLocal(answer) ? undefined : "must be https://, except for localhost"),
  },
  {
    name: "kind",
    option: "--kind <kind>",
    text: "What is behind it",
    choices: ["mcp", "web"],
    fallback: () => "mcp",
  },
  {
    name: "to",
    option: "--to <url>",
    text: "Address of the MCP server or web application; for an MCP server with the path of its endpoint",
    fallback: () => undefined,
    problem: urlProblem,
  },
  {
    name: "signIn",
    option: "--sign-in <url>",
    text: "Address of the sign-in pages: a host of their own",
    fallback: ({ url = LOCAL_URL }) => signInOf(url),
    problem: (answer, { url }) =>
      originProblem(answer) ??
      (url !== undefined && new URL(answer).hostname === new URL(url).hostname
        ? "must have another host than the route"
        : undefined),
  },
  {
    name: "issuer",
    option: "--issuer <url>",
    text: "Issuer of your OpenID Connect provider, such as https://accounts.google.com",
    fallback: () => undefined,
    problem: (answer, { url = LOCAL_URL }) =>
      urlProblem(answer) ??
      (answer.startsWith("https://") || isLocal(url)
        ? undefined
        : "must be https://, except for a gateway on localhost"),
  },
  {
    name: "clientId",
    option: "--client-id <id>",
    text: "Client ID of the gateway at the provider",
    fallback: () => "gateway",
    problem: (answer) => (/^[\x21-\x7e]{1,255}$/.test(answer) ? undefined : "must be up to 255 visible characters"),
  },
  {
    name: "domain",
    option: "--domain <domain>",
    text: 'Email domain of users with access, or "" for all signed-in users',
    fallback: () => "",
    problem: (answer) => (answer === "" || DOMAIN.test(answer) ? undefined : "must be a domain such as example.com"),
  },
  {
    name: "operator",
    option: "--operator <email>",
    text: 'Email address of the first operator of the console, or "" for no console',
    fallback: () => "",
    problem: (answer) => (answer === "" || /^[^@\s"]+@[^@\s"]+$/.test(answer) ? undefined : "must be an email address"),
  },
  {
    name: "target",
    option: "--target <target>",
    text: "Where it runs",
    choices: ["local", "systemd", "compose", "kubernetes"],
    fallback: () => "local",
    problem: (answer, { url = LOCAL_URL }) =>
      answer !== "local" && !url.startsWith("https://") ? "must be local, because the address is http://" : undefined,
  },
  {
    name: "storage",
    option: "--storage <storage>",
    text: "Where sessions and grants are kept; several replicas need postgres",
    choices: ["sqlite", "postgres", "memory"],
    fallback: ({ target }) => (target === "kubernetes" ? "postgres" : "sqlite"),
    problem: (answer, { target }) =>
      target === "kubernetes" && answer !== "postgres"
        ? "must be postgres for kubernetes, which has replicas"
        : undefined,
  },
  {
    name: "certificates",
    option: "--certificates <source>",
    text: "Certificates of the listener: files, automatic (acme), or none for http://localhost or behind a TLS proxy",
    choices: ["none", "files", "acme"],
    fallback: ({ url = LOCAL_URL }) => (url.startsWith("https://") ? "files" : "none"),
    problem: (answer, { url = LOCAL_URL, storage }) => {
      if (answer !== "none" && !url.startsWith("https://")) return "must be none, because the address is http://";
      return answer === "acme" && storage === "memory"
        ? "must be another, because they are kept in the storage"
        : undefined;
    },
  },
  {
    name: "program",
    option: "--program <program>",
    text: "Program that defines the routes; none: they are in gateway.yaml",
    choices: ["none", "terraform", "cdktf"],
    fallback: () => "none",
  },
];

const DOMAIN = /^(?=.{1,253}$)[a-z0-9-]+(\.[a-z0-9-]+)+$/;

export function isLocal(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === "localhost" || hostname.endsWith(".localhost") || hostname === "127.0.0.1";
}

function urlProblem(answer: string): string | undefined {
  const isUrl = URL.canParse(answer) && /^https?:\/\/[^/?#@\s]+/.test(answer) && !/[?#]/.test(answer);
  return isUrl ? undefined : "must be an http:// or https:// address";
}

function originProblem(answer: string): string | undefined {
  return (
    urlProblem(answer) ??
    (new URL(answer).origin === answer ? undefined : "must have no path, such as https://github.example.com")
  );
}

/** "https://mcp.example.com" → "https://auth.example.com"; localhost has a second name. */
function signInOf(url: string): string {
  const { protocol, hostname, port } = new URL(url);
  const place = port === "" ? "" : `:${port}`;
  if (hostname === "localhost") return `${protocol}//127.0.0.1${place}`;
  const parent = hostname.split(".").slice(1).join(".");
  return `${protocol}//auth.${isIP(hostname) || !parent.includes(".") ? hostname : parent}${place}`;
}

/** @throws nothing; @returns the problem of an answer, as a sentence */
export function answerProblem(question: InitQuestion, answer: string, known: Partial<InitAnswers>): string | undefined {
  const { choices, problem, option } = question;
  const [flag] = option.split(" ");
  if (choices && !choices.includes(answer))
    return `${flag} is ${JSON.stringify(answer)}, must be one of ${choices.join(", ")}`;
  const found = problem?.(answer, known);
  return found === undefined ? undefined : `${flag} is ${JSON.stringify(answer)}, ${found}`;
}
