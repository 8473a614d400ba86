/**
 * Puts an owner's plan into the pull request: `node comment-plan.ts OWNER PLAN_FILE`.
 *
 * One comment for each owner, which later runs write anew. It is found by a first line that nobody sees, and only among
 * the workflow's own: a stranger may write that line, too, and this token may edit what others wrote.
 */
import { readFile } from "node:fs/promises";
import { env } from "node:process";

/** Who comments with the token that a workflow has. */
const WORKFLOW = "github-actions[bot]";

/** Longest text of a comment, in characters. */
const MOST = 65_536;

const [, , owner = "", planFile = ""] = process.argv;
if (!/^[a-z0-9][a-z0-9._-]*$/.test(owner))
  throw new Error(`Cannot comment for owner "${owner}": it is no owner's name`);
const api = env["GITHUB_API_URL"] ?? "https://api.github.com";
const comments = `${api}/repos/${variable("GITHUB_REPOSITORY")}/issues`;
const ofPullRequest = `${comments}/${variable("PULL_REQUEST")}/comments`;

const marker = `<!-- gateway plan: ${owner} -->`;
const body = bodyOf(await readFile(planFile, "utf8"));
const earlier = await findComment();
if (earlier === undefined) await ask("POST", ofPullRequest, { body });
else await ask("PATCH", `${comments}/comments/${earlier}`, { body });

function bodyOf(plan: string): string {
  // Longer than any fence in the plan: a header's value may hold one.
  const fence = "`".repeat(1 + Math.max(2, ...[...plan.matchAll(/`+/g)].map(([ticks]) => ticks.length)));
  const [head, foot] = [`${marker}\n### Gateway: ${owner}\n\n${fence}\n`, `\n${fence}\n`];
  const cut = "\n… the rest is in the log of the run\n";
  const room = MOST - head.length - foot.length - cut.length;
  return head + (plan.length > room ? plan.slice(0, room) + cut : plan.trimEnd()) + foot;
}

/** @returns its number; undefined when there is none yet */
async function findComment(): Promise<number | undefined> {
  for (let page = 1; ; page += 1) {
    const found = (await ask("GET", `${ofPullRequest}?per_page=100&page=${page}`)) as Comment[];
    const own = found.find(({ user, body: text }) => user?.login === WORKFLOW && text?.startsWith(marker));
    if (own || found.length === 0) return own?.id;
  }
}

interface Comment {
  readonly id: number;
  readonly body?: string;
  readonly user: { readonly login: string } | null;
}

async function ask(method: string, url: string, content?: object): Promise<unknown> {
  const response = await fetch(url, {
    method,
    headers: {
      accept: "application/vnd.github+json",
      authorization: `Bearer ${variable("GH_TOKEN")}`,
      "content-type": "application/json",
    },
    ...(content && { body: JSON.stringify(content) }),
  });
  if (!response.ok) throw new Error(`Cannot comment: ${method} ${url} answers ${response.status}`);
  return response.json();
}

function variable(name: string): string {
  const value = env[name];
  if (value === undefined || value === "")
    throw new Error(`Cannot comment: the environment variable ${name} is not set`);
  return value;
}
