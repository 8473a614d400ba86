/** Resources, prompts and completion as the conformance suite expects them. */
import { completable, ResourceTemplate, type McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

import { PNG } from "./fixture-tools.ts";

export function registerResources(server: McpServer): void {
  const uri = "test://static-text";
  server.registerResource(
    "static-text",
    uri,
    { description: "Text that never changes", mimeType: "text/plain" },
    () => ({
      contents: [{ uri, mimeType: "text/plain", text: "This is the content of the static text resource." }],
    }),
  );
  const binary = "test://static-binary";
  server.registerResource("static-binary", binary, { description: "An image", mimeType: "image/png" }, () => ({
    contents: [{ uri: binary, mimeType: "image/png", blob: PNG }],
  }));
  const watched = "test://watched-resource";
  server.registerResource(
    "watched-resource",
    watched,
    { description: "Can be subscribed to", mimeType: "text/plain" },
    () => ({
      contents: [{ uri: watched, mimeType: "text/plain", text: "Watched." }],
    }),
  );
  const template = new ResourceTemplate("test://template/{id}/data", { list: undefined });
  server.registerResource(
    "template",
    template,
    { description: "By id", mimeType: "application/json" },
    (found, { id }) => ({
      contents: [
        {
          uri: found.href,
          mimeType: "application/json",
          text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }),
        },
      ],
    }),
  );
}

export function registerPrompts(server: McpServer): void {
  server.registerPrompt("test_simple_prompt", { description: "No arguments" }, () => ({
    messages: [{ role: "user", content: { type: "text", text: "This is a simple prompt for testing." } }],
  }));
  const cities = ["paris", "park", "party"];
  const argsSchema = z.object({
    arg1: completable(z.string().describe("First test argument"), (value) =>
      cities.filter((city) => city.startsWith(value)),
    ),
    arg2: z.string().describe("Second test argument"),
  });
  server.registerPrompt(
    "test_prompt_with_arguments",
    { description: "Two arguments", argsSchema },
    ({ arg1, arg2 }) => ({
      messages: [
        { role: "user", content: { type: "text", text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` } },
      ],
    }),
  );
  const withUri = z.object({ resourceUri: z.string().describe("URI of the resource to embed") });
  server.registerPrompt(
    "test_prompt_with_embedded_resource",
    { description: "Embeds a resource", argsSchema: withUri },
    ({ resourceUri }) => ({
      messages: [
        {
          role: "user",
          content: {
            type: "resource",
            resource: { uri: resourceUri, mimeType: "text/plain", text: "Embedded resource content for testing." },
          },
        },
        { role: "user", content: { type: "text", text: "Please process the embedded resource above." } },
      ],
    }),
  );
  server.registerPrompt("test_prompt_with_image", { description: "Shows an image" }, () => ({
    messages: [
      { role: "user", content: { type: "image", data: PNG, mimeType: "image/png" } },
      { role: "user", content: { type: "text", text: "Please analyze the image above." } },
    ],
  }));
}
