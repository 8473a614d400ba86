/** How the gateway of one point of a curve is started and asked. */
import { toolDigest } from "../../../runtime/features/mcp/tool-lock-file.ts";
import { type ExactJson, parseExactJson } from "../../../runtime/shared/json/exact-json.ts";
import { tokenFor } from "../common/gateway.ts";
import { benchTools } from "../common/raw-server.ts";
import { webRequest } from "../common/requests.ts";
import type { Stage } from "../common/stage.ts";
import { federatedRoute, memberRequest, memberRoute } from "../federation/routes.ts";
import { type CurveName, MEMBER_TOOLS } from "./curves.ts";
import { holdSessions } from "./sessions.ts";
import { asking, type CurveGateway, ofGateway, startOne, type Subject, type SubjectCase } from "./start.ts";
import { holdStreams } from "./streams.ts";

const CALL_LINE = "tools/call";
const LIST_LINE = "tools/list, a tool";
/** A list of 5,000 tools takes a tenth of a second. */
const LIST_CONNECTIONS = 4;
const UPSTREAM = "common/upstream.ts";
const MEMBERS = "federation/members.ts";

/** A slice can have 2,000,000 values and 50,000 upstreams. */
const otherRoute = (to: string, index: number): object => ({
  ...(index % 5 < 2
    ? { to, set_request_headers: { "X-Team": "platform" } }
    : { redirect: { host_redirect: "example.com" } }),
  policy: [{ allow: { and: [{ domain: "example.com" }] } }],
});

const rules = (count: number): string =>
  [
    ...Array.from(
      { length: count - 1 },
      (_, index) => `{ allow: { and: [{ domain: { is: other-${index}.example } }] } }`,
    ),
    "{ allow: { and: [{ domain: { is: example.com } }] } }",
  ].join(", ");

/** A line of `tool_lock` for each tool. */
function lockOf(count: number): string {
  const digests = benchTools(count).map((tool, index) => {
    const definition = parseExactJson(JSON.stringify(tool)) as ExactJson;
    return `tool_${index}: ["${toolDigest(definition)}"]`;
  });
  return `, tool_lock: { tools: { ${digests.join(", ")} } }`;
}

async function mcpCases(
  { child: { port } }: CurveGateway,
  path: string,
  tool: string,
  listed: number,
): Promise<readonly SubjectCase[]> {
  const token = await tokenFor(port, path);
  const call = { name: tool, arguments: { repo: "gateway" } };
  return [
    { line: CALL_LINE, run: asking(port, memberRequest({ port, path, token, method: "tools/call", params: call })) },
    {
      line: LIST_LINE,
      per: listed,
      run: asking(port, memberRequest({ port, path, token, method: "tools/list", params: {} }), LIST_CONNECTIONS),
    },
  ];
}

export const STARTS: Readonly<Record<CurveName, (x: number, stage: Stage) => Promise<Subject>>> = {
  sessions: holdSessions,
  streams: holdStreams,
  async routes(x, stage) {
    const { child, cookie } = await startOne(stage, `routes-${x}`, UPSTREAM, () => ({ otherRoutes: x, otherRoute }));
    return ofGateway({ child }, { line: "GET", run: asking(child.port, webRequest(child.port, cookie)) });
  },
  async rules(x, stage) {
    const { child, cookie } = await startOne(stage, `rules-${x}`, UPSTREAM, (upstream) => ({
      moreRoutes: (port) =>
        `  - { name: rules, from: "http://localhost:${port}", to: "${upstream}", prefix: /rules, policy: [${rules(x)}] }\n`,
    }));
    const request = webRequest(child.port, cookie, "/rules/items");
    return ofGateway({ child }, { line: "GET", run: asking(child.port, request) });
  },
  async tools(x, stage) {
    const name = `${x}-tools`;
    const gateway = await startOne(stage, name, MEMBERS, (upstream) => ({
      moreRoutes: (port) => memberRoute(port, upstream, name, lockOf(x)),
    }));
    return ofGateway(gateway, ...(await mcpCases(gateway, `/${name}/${name}`, `tool_${x - 1}`, x)));
  },
  async members(x, stage) {
    const members = Array.from({ length: x }, (_, at) => `${MEMBER_TOOLS}-tools-${at}`);
    const gateway = await startOne(stage, `members-${x}`, MEMBERS, (upstream) => ({
      moreRoutes: (port) =>
        members.map((name) => memberRoute(port, upstream, name)).join("") + federatedRoute(port, "all", members),
    }));
    return ofGateway(gateway, ...(await mcpCases(gateway, "/all", `m${x - 1}__tool_1`, x * MEMBER_TOOLS)));
  },
};
