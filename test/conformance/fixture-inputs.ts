/** Tools and a prompt that need more input and get it by being called again (2026-07-28 multi round-trip results). */
import {
  acceptedContent,
  inputRequired,
  inputResponse,
  type ClientCapabilities,
  type McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";

const none = z.object({});
const nameSchema = { type: "object" as const, properties: { name: { type: "string" as const } }, required: ["name"] };

export interface StateCodec {
  mint(payload: unknown, ctx: ServerContext): Promise<string>;
}

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });

export function registerInputTools(server: McpServer, state: StateCodec): void {
  const name = inputRequired.elicit({ message: "What is your name?", requestedSchema: nameSchema });
  const named = z.object({ name: z.string() });

  server.registerTool(
    "test_input_required_result_elicitation",
    { description: "Asks for a name", inputSchema: none },
    (_, ctx) => {
      const given = acceptedContent(ctx.mcpReq.inputResponses, "user_name", named);
      return given ? text(`Hello, ${given.name}!`) : inputRequired({ inputRequests: { user_name: name } });
    },
  );
  server.registerTool(
    "test_input_required_result_sampling",
    { description: "Asks the model", inputSchema: none },
    (_, ctx) => {
      const given = inputResponse(ctx.mcpReq.inputResponses, "capital_question");
      if (given.kind !== "sampling") {
        return inputRequired({ inputRequests: { capital_question: sample("What is the capital of France?", 100) } });
      }
      return text(sampledText(given.result));
    },
  );
  server.registerTool(
    "test_input_required_result_list_roots",
    { description: "Asks for roots", inputSchema: none },
    (_, ctx) => {
      const given = inputResponse(ctx.mcpReq.inputResponses, "client_roots");
      if (given.kind !== "roots") return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
      return text(`Roots: ${given.roots.map((root) => root.uri).join(", ")}`);
    },
  );
  server.registerTool(
    "test_input_required_result_request_state",
    { description: "Keeps state", inputSchema: none },
    async (_, ctx) => {
      const given = acceptedContent(ctx.mcpReq.inputResponses, "confirm");
      if (given && ctx.mcpReq.requestState() !== undefined) return text("state-ok");
      return inputRequired({ inputRequests: { confirm: confirm() }, requestState: await state.mint({ step: 1 }, ctx) });
    },
  );
  server.registerTool(
    "test_input_required_result_tampered_state",
    { description: "Guards its state", inputSchema: none },
    async (_, ctx) => {
      if (ctx.mcpReq.requestState() !== undefined) return text("state-ok");
      return inputRequired({ inputRequests: { confirm: confirm() }, requestState: await state.mint({ step: 1 }, ctx) });
    },
  );
  server.registerTool(
    "test_input_required_result_multiple_inputs",
    { description: "Asks for three things", inputSchema: none },
    async (_, ctx) => {
      const responses = ctx.mcpReq.inputResponses;
      const who = acceptedContent(responses, "user_name", named);
      const greeting = inputResponse(responses, "greeting");
      const roots = inputResponse(responses, "client_roots");
      if (who && greeting.kind === "sampling" && roots.kind === "roots") {
        return text(`${sampledText(greeting.result)} ${who.name}, ${roots.roots.length} roots`);
      }
      return inputRequired({
        inputRequests: {
          user_name: name,
          greeting: sample("Generate a greeting", 50),
          client_roots: inputRequired.listRoots(),
        },
        requestState: await state.mint({ step: 1 }, ctx),
      });
    },
  );
  server.registerTool(
    "test_input_required_result_multi_round",
    { description: "Asks twice", inputSchema: none },
    async (_, ctx) => {
      const known = ctx.mcpReq.requestState<{ step: number; name?: string }>();
      const first = acceptedContent(ctx.mcpReq.inputResponses, "step1", named);
      const second = acceptedContent(ctx.mcpReq.inputResponses, "step2", z.object({ color: z.string() }));
      if (known?.step === 2 && second) return text(`${known.name} likes ${second.color}`);
      if (known?.step === 1 && first) {
        const requestedSchema = {
          type: "object" as const,
          properties: { color: { type: "string" as const } },
          required: ["color"],
        };
        return inputRequired({
          inputRequests: {
            step2: inputRequired.elicit({ message: "Step 2: What is your favorite color?", requestedSchema }),
          },
          requestState: await state.mint({ step: 2, name: first.name }, ctx),
        });
      }
      return inputRequired({
        inputRequests: {
          step1: inputRequired.elicit({ message: "Step 1: What is your name?", requestedSchema: nameSchema }),
        },
        requestState: await state.mint({ step: 1 }, ctx),
      });
    },
  );
  // Asks only for what the client of this request declared that it can give.
  server.registerTool(
    "test_input_required_result_capabilities",
    { description: "Asks for what is possible", inputSchema: none },
    (_, ctx) => {
      const able = capabilitiesOf(ctx);
      if (ctx.mcpReq.inputResponses && Object.keys(ctx.mcpReq.inputResponses).length > 0) return text("thank you");
      const requests = {
        ...(able?.elicitation ? { user_name: name } : {}),
        ...(able?.sampling ? { greeting: sample("Generate a greeting", 50) } : {}),
        ...(able?.roots ? { client_roots: inputRequired.listRoots() } : {}),
      };
      return Object.keys(requests).length > 0 ? inputRequired({ inputRequests: requests }) : text("nothing to ask");
    },
  );
  server.registerTool("test_missing_capability", { description: "Needs sampling", inputSchema: none }, (_, ctx) => {
    // The SDK itself refuses to ask for what the client did not declare, with error -32021.
    const given = inputResponse(ctx.mcpReq.inputResponses, "greeting");
    if (given.kind === "sampling") return text(sampledText(given.result));
    return inputRequired({ inputRequests: { greeting: sample("Generate a greeting", 50) } });
  });
  server.registerTool(
    "test_streaming_elicitation",
    { description: "Asks on a stream", inputSchema: none },
    async (_, ctx) => {
      const given = acceptedContent(ctx.mcpReq.inputResponses, "user_name", named);
      const progressToken = ctx.mcpReq._meta?.progressToken;
      if (progressToken !== undefined) {
        await ctx.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress: 1, total: 2 } });
      }
      return given ? text(`Hello, ${given.name}!`) : inputRequired({ inputRequests: { user_name: name } });
    },
  );
  server.registerPrompt("test_input_required_result_prompt", { description: "Asks before it answers" }, (ctx) => {
    const given = acceptedContent(ctx.mcpReq.inputResponses, "user_context", z.object({ context: z.string() }));
    if (!given) {
      const requestedSchema = {
        type: "object" as const,
        properties: { context: { type: "string" as const } },
        required: ["context"],
      };
      return inputRequired({
        inputRequests: {
          user_context: inputRequired.elicit({ message: "What context should the prompt use?", requestedSchema }),
        },
      });
    }
    return { messages: [{ role: "user", content: { type: "text", text: `Context: ${given.context}` } }] };
  });
}

/** What the client of this very request declared that it can do. */
function capabilitiesOf(ctx: ServerContext): ClientCapabilities | undefined {
  const envelope: Record<string, unknown> | undefined = ctx.mcpReq.envelope;
  return envelope?.["io.modelcontextprotocol/clientCapabilities"] as ClientCapabilities | undefined;
}

function confirm() {
  const requestedSchema = {
    type: "object" as const,
    properties: { ok: { type: "boolean" as const } },
    required: ["ok"],
  };
  return inputRequired.elicit({ message: "Please confirm", requestedSchema });
}

function sample(question: string, maxTokens: number) {
  return inputRequired.createMessage({
    messages: [{ role: "user", content: { type: "text", text: question } }],
    maxTokens,
  });
}

function sampledText(result: { content: unknown }): string {
  const first: unknown = Array.isArray(result.content) ? result.content[0] : result.content;
  return typeof first === "object" && first !== null && "text" in first ? String(first.text) : "";
}
