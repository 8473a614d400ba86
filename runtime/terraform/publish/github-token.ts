/**
 * The token of a GitHub Actions job, requested when it is needed: it is valid for minutes, and each request returns another
 * one.
 *
 * Promise: the job's own request token goes only to the address that GitHub gave the job, and into no message.
 *
 * @see https://docs.github.com/actions, "OpenID Connect reference": ACTIONS_ID_TOKEN_REQUEST_URL
 */
import { attempting, GatewayError } from "../../shared/errors.ts";
import { askGateway } from "./ask-gateway.ts";

const TIMEOUT_MS = 15_000;

/** @throws GatewayError `publish.token` */
export async function githubToken(audience: string, env: NodeJS.ProcessEnv): Promise<string> {
  const { ACTIONS_ID_TOKEN_REQUEST_URL: address, ACTIONS_ID_TOKEN_REQUEST_TOKEN: bearer } = env;
  const url = URL.parse(address ?? "");
  if (!url || !bearer)
    throw refusal('this is not a job of GitHub Actions, or it lacks "permissions: { id-token: write }"');
  url.searchParams.set("audience", audience);
  const answer = await attempting("publish.token", "Cannot get the job's token from GitHub Actions", () =>
    askGateway({
      method: "GET",
      url: url.href,
      headers: { authorization: `Bearer ${bearer}`, accept: "application/json" },
      body: undefined,
      timeoutMs: TIMEOUT_MS,
    }),
  );
  const token = answer.body?.["value"];
  if (answer.status !== 200 || typeof token !== "string") throw refusal(`it answered ${answer.status} without a token`);
  return token;
}

function refusal(reason: string): GatewayError {
  return new GatewayError("publish.token", `Cannot get the job's token from GitHub Actions: ${reason}`);
}
