/** `gateway init`: writes the first configuration of a gateway, and what runs it. It never replaces a file. */
import { access, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { GatewayError } from "../../shared/errors.ts";
import { bootFile, secretsFile } from "./boot-file.ts";
import { deploymentFiles } from "./deployment-files.ts";
import { programFiles } from "./program-files.ts";
import { answerProblem, type InitAnswers, QUESTIONS } from "./questions.ts";

export interface InitOptions {
  readonly directory: string;
  readonly given: Partial<Record<keyof InitAnswers, string>>;
  /** Asks the user. Undefined without a terminal. */
  readonly ask: ((question: string, fallback: string | undefined) => Promise<string>) | undefined;
  /** Client secret at the provider. "" leaves the line in gateway.env empty. */
  readonly clientSecret: string;
  readonly version: string;
}

export interface InitResult {
  /** Paths as they were given, in the order of writing. */
  readonly files: readonly string[];
  /** Next steps for the user, one line each. */
  readonly steps: readonly string[];
}

/** @throws GatewayError `init.answer`, `init.exists` */
export async function initGateway(options: InitOptions): Promise<InitResult> {
  const { directory, clientSecret, version } = options;
  const answers = await askAll(options);
  const deployment = await deploymentFiles(answers, { version, directory, findExample });
  const texts: Readonly<Record<string, string>> = {
    "gateway.yaml": bootFile(answers),
    "gateway.env": secretsFile(answers, clientSecret),
    ...deployment,
    ...programFiles(answers, version),
  };
  const files = Object.keys(texts).map((name) => join(directory, name));
  for (const file of files) {
    if (await isThere(file))
      throw new GatewayError("init.exists", `Cannot write ${file}: it exists. No file was written`);
  }
  await mkdir(directory, { recursive: true });
  for (const [name, text] of Object.entries(texts))
    await writeFile(join(directory, name), text, { flag: "wx", mode: name === "gateway.env" ? 0o600 : 0o644 });
  return { files, steps: stepsOf(answers, clientSecret === "") };
}

async function askAll({ given, ask }: InitOptions): Promise<InitAnswers> {
  const known: Partial<Record<keyof InitAnswers, string>> = {};
  for (const question of QUESTIONS) {
    const { name, text, choices, fallback } = question;
    const soFar = known as Partial<InitAnswers>;
    const usual = fallback(soFar);
    let answer = given[name];
    if (answer === undefined && ask) {
      let asked = choices ? `${text} (${choices.join(", ")})` : text;
      let problem: string | undefined;
      do {
        answer = await ask(asked, usual);
        problem = answerProblem(question, answer, soFar);
        asked = `${problem}. ${text}`;
      } while (problem !== undefined);
    }
    answer ??= usual;
    if (answer === undefined) throw new GatewayError("init.answer", `${question.option} is missing: ${text}`);
    const problem = answerProblem(question, answer, soFar);
    if (problem !== undefined) throw new GatewayError("init.answer", problem);
    known[name] = answer;
  }
  return known as unknown as InitAnswers;
}

/** @param path below examples/ of the package @returns its own path */
async function findExample(path: string): Promise<string> {
  // From the sources, and from the built file.
  for (const place of ["../../../examples/", "../../examples/"]) {
    const found = fileURLToPath(new URL(place + path, import.meta.url));
    if (await isThere(found)) return found;
  }
  throw new GatewayError("init.examples", `Cannot find examples/${path} of the package: install it again`);
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function stepsOf(answers: InitAnswers, needsSecret: boolean): string[] {
  const { target, storage, certificates, signIn, url, to, kind, program } = answers;
  const fill = [...(needsSecret ? ["IDP_CLIENT_SECRET"] : []), ...(storage === "postgres" ? ["STORAGE_URL"] : [])];
  return [
    `Register the redirect URI ${signIn}/.gateway/callback at your identity provider.`,
    ...(fill.length > 0 ? [`Fill in ${fill.join(" and ")} in gateway.env.`] : []),
    ...(certificates === "files" ? ["Put the certificate and its key where gateway.yaml names them."] : []),
    "Validate: set -a; . ./gateway.env; set +a; gateway check gateway.yaml",
    RUN[target],
    ...(program === "none" ? [] : [`Publish the route: see ${program === "terraform" ? "main.tf" : "main.ts"}.`]),
    kind === "mcp"
      ? `Verify: gateway doctor ${url}${new URL(to).pathname} prints "connects".`
      : `Verify: open ${url}/ and sign in.`,
  ];
}

const RUN: Readonly<Record<InitAnswers["target"], string>> = {
  local: "Run: gateway run --config gateway.yaml",
  systemd:
    "Install: gateway.yaml to /etc/gateway, gateway.env to /etc/gateway-secrets, gateway.service to /etc/systemd/system; then systemctl enable --now gateway",
  compose: "Run: docker compose up --build",
  kubernetes: "Run: kubectl apply -k .",
};
