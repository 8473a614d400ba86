/** Two skills and their directories, as the conformance suite's scenarios for SEP-2640 expect them. */
import { createHash } from "node:crypto";

import { ProtocolError, ProtocolErrorCode, type McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

const FILES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "skill://docs/release/SKILL.md":
      "---\nname: release\ndescription: Publishes a release\n---\n\nSee references/STEPS.md.\n",
    "skill://docs/release/references/STEPS.md": "1. Tag.\n2. Publish.\n",
    "skill://triage/SKILL.md": "---\nname: triage\ndescription: Sorts new issues\n---\n\nLabel each issue.\n",
  }),
);
const DIRECTORY = "inode/directory";
const HINTS = { resultType: "complete", ttlMs: 60_000, cacheScope: "public" };

const SKILLS = [...FILES].flatMap(([uri, text]) => {
  if (!uri.endsWith("/SKILL.md")) return [];
  const [, name = "", description = ""] = /^---\nname: (.*)\ndescription: (.*)\n---/.exec(text) ?? [];
  const root = uri.slice(0, -"SKILL.md".length);
  const resources = [...FILES].flatMap(([file, content]) => {
    const digest = `sha256:${createHash("sha256").update(content).digest("hex")}`;
    return file.startsWith(root) ? [{ uri: file, digest, size: Buffer.byteLength(content) }] : [];
  });
  return [{ uri, frontmatter: { name, description }, resources }];
});

/** Direct children. */
function childrenOf(directory: string): readonly { uri: string; name: string; mimeType: string }[] {
  const below = [...FILES.keys()].filter((file) => file.startsWith(`${directory}/`));
  const names = new Set(below.map((file) => file.slice(directory.length + 1).split("/")[0] ?? ""));
  return [...names].map((name) => {
    const uri = `${directory}/${name}`;
    return { uri, name, mimeType: FILES.has(uri) ? "text/markdown" : DIRECTORY };
  });
}

export const SKILLS_CAPABILITY = { "io.modelcontextprotocol/skills": { directoryRead: true } };

export function registerSkills(server: McpServer): void {
  for (const [uri, text] of FILES) {
    const skill = SKILLS.find((each) => each.uri === uri)?.frontmatter;
    const about = { mimeType: "text/markdown", ...(skill && { description: skill.description }) };
    server.registerResource(skill?.name ?? uri, uri, about, () => ({
      contents: [{ uri, mimeType: "text/markdown", text }],
    }));
  }
  const unknown = (what: string): never => {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, what);
  };
  const named = z.object({ uri: z.string() });
  server.server.setRequestHandler("skills/list", { params: z.object({}) }, () => ({ skills: SKILLS, ...HINTS }));
  server.server.setRequestHandler("skills/get", { params: named }, ({ uri }) => ({
    skill: SKILLS.find((skill) => skill.uri === uri) ?? unknown(`No skill is served at ${uri}`),
    ...HINTS,
  }));
  server.server.setRequestHandler("resources/directory/read", { params: named }, ({ uri }) => {
    const resources = childrenOf(uri);
    return {
      resources: resources.length > 0 ? resources : unknown(`${uri} is not a directory`),
      resultType: "complete",
    };
  });
}
