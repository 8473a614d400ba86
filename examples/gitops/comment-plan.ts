/**
 * Puts an owner's plan into the pull request, below who gains or loses what by it, in the words of `gateway diff`:
 * `node comment-plan.ts OWNER PLAN_FILE DIFF_FILE`.
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

/** Of which what `gateway diff` says has at most this. */
const MOST_OF_DIFF = 20_000;

const [, , owner = "", planFile = "", diffFile = ""] = process.argv;
if (!/^[a-z0-9][a-z0-9._-]*$/.test(owner))
  throw new Error(`Cannot comment for owner "${owner}": it is no owner's name`);
const api = env["GITHUB_API_URL"] ?? "https://api.github.com";
const comments = `${api}/repos/${variable("GITHUB_REPOSITORY")}/issues`;
const ofPullRequest = `${comments}/${variable("PULL_REQUEST")}/comments`;

const marker = `<!-- gateway plan: ${owner} -->`;
// Without it the plan did not know enough.
const diff = await readFile(diffFile, "utf8").catch(() => "Who gains or loses what is not known before apply.");
const body = bodyOf(diff, await readFile(planFile, "utf8"));
const earlier = await findComment();
if (earlier === undefined) await ask("POST", ofPullRequest, { body });
else await ask("PATCH", `${comments}/comments/${earlier}`, { body });

function bodyOf(difference: string, plan: string): string {
  const head = `${marker}\n### Gateway: ${owner}\n\n${fenced(difference, MOST_OF_DIFF)}\n`;
  return head + fenced(plan, MOST - head.length);
}

/** @param most characters, fences included */
function fenced(text: string, most: number): string {
  // Longer than any fence in it: a header's value may hold one.
  const fence = "`".repeat(1 + Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length)));
  const cut = "\n… the rest is in the log of the run\n";
  const room = most - 2 * fence.length - "\n\n\n".length - cut.length;
  return `${fence}\n${text.length > room ? text.slice(0, room) + cut : text.trimEnd()}\n${fence}\n`;
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
