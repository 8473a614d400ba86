/**
 * A publish token for this run, without a stored secret: the job's own token of GitHub Actions is shown to the gateway, which
 * makes one for the owner's slice (`publish_workloads` of gateway.yaml). Later steps find it as GATEWAY_ADMIN_TOKEN.
 */
import { appendFile } from "node:fs/promises";

const [owner = ""] = process.argv.slice(2);
const { GATEWAY_ADMIN_URL: gateway, GATEWAY_PUBLISH_AUDIENCE: audience = "", GITHUB_ENV: file = "" } = process.env;
const { ACTIONS_ID_TOKEN_REQUEST_URL: address = "", ACTIONS_ID_TOKEN_REQUEST_TOKEN: bearer } = process.env;

async function ask(url: URL, token: string | undefined, body?: object): Promise<Readonly<Record<string, string>>> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const answer = await fetch(url, { headers, ...(body && { method: "POST", body: JSON.stringify(body) }) });
  if (!answer.ok) throw new Error(`${url.host} answered ${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as Readonly<Record<string, string>>;
}

const request = new URL(address);
request.searchParams.set("audience", audience);
const job = await ask(request, bearer);
const { token } = await ask(new URL("/publish-tokens", gateway), job["value"], { owner, lifetime: "30m" });
console.log(`::add-mask::${token}`);
await appendFile(file, `GATEWAY_ADMIN_TOKEN=${token}\n`);
