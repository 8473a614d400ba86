/**
 * The common part of actions: they ask the admin listener of a gateway with its admin token, which publish tokens cannot
 * replace.
 *
 * Untrusted: the responses, which are bounded and read member by member. A failure is an error of the run; an action that
 * is repeated finds done what was done.
 */
import { randomUUID } from "node:crypto";

import { GatewayError } from "../../shared/errors.ts";
import type { Diagnostic } from "../protocol/diagnostics.ts";
import type { ProviderAction } from "../protocol/provider.ts";
import type { Value, ValueMap } from "../protocol/value.ts";
import type { AdminConnection } from "../publish/admin-token.ts";
import { type AdminQuestion, askAdmin, GATEWAY_URL, reasonOf, TOKEN_REF } from "../publish/ask-admin.ts";
import type { GatewayAnswer } from "../publish/ask-gateway.ts";
import { DATA_SOURCE_TLS } from "../publish/gateway-tls.ts";
import { addressDiagnostics } from "../publish/http-rules.ts";
import type { SchemaAttribute, SchemaBlock } from "../schema/schema-model.ts";

/** Sends a request. @param goal completes "Cannot …" @throws GatewayError */
export type ActionAsk = (goal: string, question: ActionQuestion) => Promise<ActionAnswer>;
export type ActionAnswer = GatewayAnswer & { readonly base: string };
export interface ActionQuestion extends Omit<AdminQuestion, "code" | "headers"> {
  /** Statuses that also count as success; default: 200 and 201. */
  readonly accepts?: readonly number[];
}

export interface ActionOf {
  /** For the plan. */
  target(config: ValueMap): string;
  /** Sentences for the plan. */
  effect(target: string, config: ValueMap): string;
  readonly doc: string;
  /** Arguments other than those about the gateway. */
  readonly attributes: readonly SchemaAttribute[];
  problems(config: ValueMap): Iterable<readonly [attribute: string, detail: string]>;
  invoke(config: ValueMap, ask: ActionAsk): AsyncGenerator<string, readonly Diagnostic[]>;
}

export const REASON: SchemaAttribute = {
  name: "reason",
  type: "string",
  use: "required",
  doc: "Reason for the record of the action, at most 500 characters.",
};
const MOST_REASON = 500;
const MOST_NAME = 2048;

export function actionSchema({ doc, attributes }: ActionOf): SchemaBlock {
  return { doc, attributes: [GATEWAY_URL, ...attributes, TOKEN_REF, ...DATA_SOURCE_TLS], blocks: [] };
}

export function createAction(of: ActionOf, connection: AdminConnection): ProviderAction {
  return {
    schema: actionSchema(of),
    validate: (config) => [...problemsOf(of, config)],
    effect(config) {
      const target = of.target(config);
      return [target, `${of.effect(target, config)}\n\nTerraform cannot undo it.`];
    },
    invoke: (config) => of.invoke(config, askWith(config, connection)),
  };
}

function askWith(config: ValueMap, connection: AdminConnection): ActionAsk {
  return async (goal, { accepts = [], ...question }) => {
    // Requests without it are rejected where a repetition would do something a second time.
    const headers = question.method === "POST" ? { "idempotency-key": randomUUID() } : {};
    const answer = await askAdmin(config, connection, { ...question, headers, code: "action.ask" });
    if ([200, 201, ...accepts].includes(answer.status)) return answer;
    const { base, status } = answer;
    throw refusal(goal, base, `it answered ${status}${status === 401 ? " (wrong token)" : reasonOf(answer)}`);
  };
}

/** @param goal completes "Cannot …" */
export function refusal(goal: string, base: string, reason: string): GatewayError {
  return new GatewayError("action.refused", `Cannot ${goal} at the gateway "${base}": ${reason}`);
}

/** Another web server may respond to anything. */
export function notAGateway(goal: string, base: string): GatewayError {
  return refusal(goal, base, "its response is not that of a gateway; is this the admin address?");
}

function* problemsOf(of: ActionOf, config: ValueMap): Iterable<Diagnostic> {
  const summary = "Invalid action";
  yield* addressDiagnostics(config, summary, "Possible problem with the action");
  const { reason } = config;
  const all = [...of.problems(config)];
  if (typeof reason === "string" && (reason.trim() === "" || reason.length > MOST_REASON))
    all.push(["reason", `"reason" must have 1 to ${MOST_REASON} characters.`]);
  for (const [attribute, detail] of all) yield { severity: "error", summary, detail, path: [{ attribute }] };
}

/** @returns the problem of a name that the gateway would reject */
export function* nameProblem(config: ValueMap, attribute: string): Iterable<readonly [string, string]> {
  const name = config[attribute];
  if (typeof name !== "string") return;
  // oxlint-disable-next-line no-control-regex -- exactly these are meant
  if (name === "" || name.length > MOST_NAME || /[\x00-\x1f\x7f]/.test(name))
    yield [attribute, `"${attribute}" must have 1 to ${MOST_NAME} characters, none of them a control character.`];
}

/** A value in a sentence of the plan. */
export function shown(value: Value | undefined): string {
  if (typeof value === "number") return String(value);
  return typeof value === "string" ? JSON.stringify(value) : "(known after apply)";
}
