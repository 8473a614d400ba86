/** The tools that the conformance suite calls on a server under test; names and texts are the suite's contract. */
import { setTimeout as delay } from "node:timers/promises";

import { fromJsonSchema, type McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

/** One red pixel. */
export const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/** An empty wave file. */
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

const none = z.object({});

export function registerContentTools(server: McpServer): void {
  server.registerTool("test_simple_text", { description: "Answers with text", inputSchema: none }, () => ({
    content: [{ type: "text", text: "This is a simple text response for testing." }],
  }));
  server.registerTool("test_image_content", { description: "Answers with an image", inputSchema: none }, () => ({
    content: [{ type: "image", data: PNG, mimeType: "image/png" }],
  }));
  server.registerTool("test_audio_content", { description: "Answers with audio", inputSchema: none }, () => ({
    content: [{ type: "audio", data: WAV, mimeType: "audio/wav" }],
  }));
  server.registerTool("test_embedded_resource", { description: "Answers with a resource", inputSchema: none }, () => ({
    content: [
      {
        type: "resource",
        resource: {
          uri: "test://embedded-resource",
          mimeType: "text/plain",
          text: "This is an embedded resource content.",
        },
      },
    ],
  }));
  server.registerTool(
    "test_multiple_content_types",
    { description: "Answers with a mixture", inputSchema: none },
    () => ({
      content: [
        { type: "text", text: "Multiple content types test:" },
        { type: "image", data: PNG, mimeType: "image/png" },
        {
          type: "resource",
          resource: {
            uri: "test://mixed-content-resource",
            mimeType: "application/json",
            text: JSON.stringify({ test: "data", value: 123 }),
          },
        },
      ],
    }),
  );
  server.registerTool("test_error_handling", { description: "Always fails", inputSchema: none }, () => {
    throw new Error("This tool intentionally returns an error for testing");
  });
  server.registerTool(
    "json_schema_2020_12_tool",
    { description: "Tool with JSON Schema 2020-12 features", inputSchema: fromJsonSchema(RICH_SCHEMA) },
    (input) => ({ content: [{ type: "text", text: JSON.stringify(input) }] }),
  );
  const mirrored: Record<string, unknown> & { type: "string" } = { type: "string", "x-mcp-header": "Region" };
  server.registerTool(
    "test_mirrored_argument",
    {
      description: "Has an argument that clients mirror into a header",
      inputSchema: fromJsonSchema({
        type: "object",
        properties: { region: mirrored, query: { type: "string" } },
        required: ["region"],
      }),
    },
    (input) => ({ content: [{ type: "text", text: JSON.stringify(input) }] }),
  );
}

export function registerNotifyingTools(server: McpServer): void {
  server.registerTool(
    "test_tool_with_logging",
    { description: "Logs while it runs", inputSchema: none },
    async (_, ctx) => {
      await ctx.mcpReq.log("info", "Tool execution started");
      await delay(50);
      await ctx.mcpReq.log("info", "Tool processing data");
      await delay(50);
      await ctx.mcpReq.log("info", "Tool execution completed");
      return { content: [{ type: "text", text: "Tool with logging executed successfully" }] };
    },
  );
  server.registerTool("test_logging_tool", { description: "Logs when asked to", inputSchema: none }, async (_, ctx) => {
    await ctx.mcpReq.log("info", "test_logging_tool ran");
    return { content: [{ type: "text", text: "logged" }] };
  });
  server.registerTool(
    "test_tool_with_progress",
    { description: "Reports progress while it runs", inputSchema: none },
    async (_, ctx) => {
      const progressToken = ctx.mcpReq._meta?.progressToken;
      for (const progress of [0, 50, 100]) {
        if (progressToken !== undefined) {
          await ctx.mcpReq.notify({
            method: "notifications/progress",
            params: { progressToken, progress, total: 100 },
          });
        }
        if (progress < 100) await delay(50);
      }
      return { content: [{ type: "text", text: String(progressToken ?? "done") }] };
    },
  );
  server.registerTool(
    "test_reconnection",
    { description: "Closes its stream while it runs", inputSchema: none },
    async (_, ctx) => {
      await delay(50);
      ctx.http?.closeSSE?.();
      await delay(100);
      return { content: [{ type: "text", text: "Reconnection test completed" }] };
    },
  );
}

/** Tools that ask the client back; only in the eras before 2026-07-28. */
export function registerAskingTools(server: McpServer): void {
  server.registerTool(
    "test_sampling",
    { description: "Asks the client's model", inputSchema: z.object({ prompt: z.string() }) },
    async ({ prompt }, ctx) => {
      const answer = await ctx.mcpReq.requestSampling({
        messages: [{ role: "user", content: { type: "text", text: prompt } }],
        maxTokens: 100,
      });
      const content = Array.isArray(answer.content) ? answer.content[0] : answer.content;
      const text = content?.type === "text" ? content.text : "no text";
      return { content: [{ type: "text", text: `LLM response: ${text}` }] };
    },
  );
  server.registerTool(
    "test_elicitation",
    { description: "Asks the user", inputSchema: z.object({ message: z.string() }) },
    async ({ message }, ctx) => {
      const answer = await ctx.mcpReq.elicitInput({
        mode: "form",
        message,
        requestedSchema: {
          type: "object",
          properties: {
            username: { type: "string", description: "User's response" },
            email: { type: "string", description: "User's email address" },
          },
          required: ["username", "email"],
        },
      });
      const text = `User response: action: ${answer.action}, content: ${JSON.stringify(answer.content ?? {})}`;
      return { content: [{ type: "text", text }] };
    },
  );
  server.registerTool(
    "test_elicitation_sep1034_defaults",
    { description: "Asks with defaults", inputSchema: none },
    async (_, ctx) => {
      const answer = await ctx.mcpReq.elicitInput({
        mode: "form",
        message: "Please review these values",
        requestedSchema: {
          type: "object",
          properties: {
            name: { type: "string", default: "John Doe" },
            age: { type: "integer", default: 30 },
            score: { type: "number", default: 95.5 },
            status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
            verified: { type: "boolean", default: true },
          },
        },
      });
      return { content: [{ type: "text", text: completed(answer) }] };
    },
  );
  server.registerTool(
    "test_elicitation_sep1330_enums",
    { description: "Asks with every form of choice", inputSchema: none },
    async (_, ctx) => {
      const options = ["option1", "option2", "option3"];
      const titled = (word: string) =>
        ["First", "Second", "Third"].map((nth, index) => ({ const: `value${index + 1}`, title: `${nth} ${word}` }));
      const answer = await ctx.mcpReq.elicitInput({
        mode: "form",
        message: "Please choose",
        requestedSchema: {
          type: "object",
          properties: {
            untitledSingle: { type: "string", enum: options },
            titledSingle: { type: "string", oneOf: titled("Option") },
            legacyEnum: {
              type: "string",
              enum: ["opt1", "opt2", "opt3"],
              enumNames: ["Option One", "Option Two", "Option Three"],
            },
            untitledMulti: { type: "array", items: { type: "string", enum: options } },
            titledMulti: { type: "array", items: { anyOf: titled("Choice") } },
          },
        },
      });
      return { content: [{ type: "text", text: completed(answer) }] };
    },
  );
}

function completed(answer: { action: string; content?: unknown }): string {
  return `Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`;
}

/** The vocabulary that the suite wants to find again, unchanged, in `tools/list`. */
const RICH_SCHEMA = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object" as const,
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};
