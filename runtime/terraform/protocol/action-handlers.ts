/** The methods of list resources and actions, since protocol 6.10. */
import { findType, readConfig, wireDiagnostics } from "./messages.ts";
import type { Diagnostic } from "./diagnostics.ts";
import type { Handler, StreamHandler } from "./handler.ts";
import type { Provider } from "./provider.ts";
import { blockType, type SchemaBlock } from "../schema/schema-model.ts";
import { wireIdentity } from "./resource-identity.ts";
import { encodeValue } from "./value-codec.ts";
import type { ValueMap } from "./value.ts";
import type { Message } from "./wire.ts";

interface Described {
  readonly schema: SchemaBlock;
  validate(config: ValueMap): readonly Diagnostic[];
}

/** By method name. */
export function createActionHandlers({ lists, actions }: Provider): Readonly<Record<string, Handler>> {
  const problemsOf = (found: Described, request: Message): Message => ({
    diagnostics: wireDiagnostics(found.validate(readConfig(found, request))),
  });
  return {
    ValidateListResourceConfig: (request) => problemsOf(findType(lists, LIST, request["typeName"]), request),
    ValidateActionConfig: (request) => problemsOf(findType(actions, ACTION, request["typeName"]), request),
    PlanAction(request) {
      const action = findType(actions, ACTION, request["typeName"]);
      const config = readConfig(action, request);
      const problems = action.validate(config);
      if (problems.some(isError)) return { diagnostics: wireDiagnostics(problems) };
      // Terraform shows the action's arguments; a warning is the only way to say what they mean. Of warnings with the same
      // summary, Terraform shows one.
      const [target, detail] = action.effect(config);
      const summary = `Action ${String(request["typeName"])}: ${target}`;
      return { diagnostics: wireDiagnostics([...problems, { severity: "warning", summary, detail }]) };
    },
  };
}

/** By method name. */
export function createStreamHandlers({ lists, actions, resources }: Provider): Readonly<Record<string, StreamHandler>> {
  return {
    async *ListResource(request) {
      const list = findType(lists, LIST, request["typeName"]);
      const { schema, identity } = findType(resources, "resource type", request["typeName"]);
      const asked = { limit: (request["limit"] as number | undefined) ?? 0, withState: request["withState"] === true };
      const listed = list.list(readConfig(list, request), asked);
      for await (const { name, identity: data, state, diagnostics = [] } of listed) {
        yield {
          name,
          ...(identity && { identity: wireIdentity(identity, data) }),
          ...(state && { state: { msgpack: encodeValue(blockType(schema), state) } }),
          diagnostics: wireDiagnostics(diagnostics),
        };
      }
    },
    async *InvokeAction(request) {
      const action = findType(actions, ACTION, request["typeName"]);
      const config = readConfig(action, request);
      // Some values were unknown before.
      const problems = action.validate(config).filter(isError);
      if (problems.length > 0) {
        yield { completed: { diagnostics: wireDiagnostics(problems) } };
        return;
      }
      const steps = action.invoke(config);
      let step = await steps.next();
      for (; !step.done; step = await steps.next()) yield { progress: { message: step.value } };
      yield { completed: { diagnostics: wireDiagnostics(step.value) } };
    },
  };
}

const LIST = "list resource";
const ACTION = "action";

function isError({ severity }: Diagnostic): boolean {
  return severity === "error";
}
