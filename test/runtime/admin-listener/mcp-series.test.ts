import { expect, test } from "vitest";

import { type CountedOperation, createMcpOperations } from "../../../runtime/admin-listener/mcp-series.ts";
import { createSeriesRegistry } from "../../../runtime/admin-listener/series.ts";

const call: CountedOperation = {
  method: "tools/call",
  tool: "dig",
  prompt: undefined,
  protocolVersion: "2025-11-25",
  httpVersion: "1.1",
  isGood: true,
  code: undefined,
  errorType: undefined,
};
const failed: CountedOperation = { ...call, isGood: false, code: "-32602", errorType: "-32602" };

type Operations = ReturnType<typeof createMcpOperations>;
/** Labels of each set, and how many operations it has. */
function setsOf(operations: Operations): { readonly value: number; readonly [label: string]: string | number }[] {
  const counts = [...operations.series.read()].filter(({ suffix }) => suffix === "_count");
  return counts.map(({ labels, value }) => ({ ...labels, value }));
}

test("operations are a histogram with the buckets and attributes of OpenTelemetry's conventions", async () => {
  const operations = createMcpOperations();
  operations.add("default/a", call, 10);
  operations.add("default/a", call, 11);
  operations.add("default/a", call, 301_000);
  operations.add("default/a", failed, 1);
  const registry = createSeriesRegistry({ processMetrics: false });
  registry.register(operations.series);
  const lines = (await registry.text()).split("\n");
  const wire = 'network_transport="tcp",network_protocol_name="http",network_protocol_version="1.1"';
  const labels = `gateway_route="default/a",mcp_method_name="tools/call",gen_ai_operation_name="execute_tool",gen_ai_tool_name="dig"`;
  const good = `${labels},mcp_protocol_version="2025-11-25",${wire}`;
  const bad = `${labels},error_type="-32602",rpc_response_status_code="-32602",mcp_protocol_version="2025-11-25",${wire}`;
  const name = "mcp_server_operation_duration_seconds";
  expect(lines).toContain(`# TYPE ${name} histogram`);
  const bounds = ["0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10", "30", "60", "120", "300", "+Inf"];
  expect(lines.filter((line) => line.startsWith(`${name}_bucket{${good}`))).toEqual(
    bounds.map((le, index) => `${name}_bucket{${good},le="${le}"} ${index === 0 ? 1 : le === "+Inf" ? 3 : 2}`),
  );
  expect(lines).toContain(`${name}_sum{${good}} 301.021`);
  expect(lines).toContain(`${name}_count{${bad}} 1`);
});

test("a name comes up once a server has answered to it, and no more of them than there is room for", () => {
  const operations = createMcpOperations();
  operations.add("a", failed, 1);
  operations.add("a", call, 1);
  operations.add("a", failed, 1);
  operations.add("b", failed, 1);
  operations.add("b", { ...call, tool: "d i g" }, 1);
  operations.add("b", { ...call, tool: "x".repeat(129) }, 1);
  operations.add("b", { ...call, method: "prompts/get", tool: undefined, prompt: "p" }, 1);
  const shown = setsOf(operations).map((set) => [
    set["gateway_route"],
    set["gen_ai_tool_name"] ?? set["gen_ai_prompt_name"],
    set["error_type"],
    set.value,
  ]);
  expect(shown).toEqual([
    ["a", "_OTHER", "-32602", 1],
    ["a", "dig", undefined, 1],
    ["a", "dig", "-32602", 1],
    ["b", "_OTHER", "-32602", 1],
    ["b", "_OTHER", undefined, 2],
    ["b", "p", undefined, 1],
  ]);

  for (let index = 0; index < 1_000; index++) operations.add("c", { ...call, tool: `tool-${index}` }, 1);
  const names = setsOf(operations).filter((set) => set["gateway_route"] === "c");
  expect(names).toHaveLength(101);
  expect(names.find((set) => set["gen_ai_tool_name"] === "_OTHER")?.value).toBe(900);
});

test("operations over the bounds of a route, or of all, are one set of the route", () => {
  const operations = createMcpOperations();
  for (let route = 0; route < 12; route++)
    for (let index = 0; index < 300; index++)
      operations.add(`route-${route}`, { ...failed, errorType: String(index) }, 1);
  const sets = setsOf(operations);
  expect(sets).toHaveLength(2_000 + 12);
  const rest = sets.filter((set) => "otel_metric_overflow" in set);
  expect(rest[0]).toEqual({ gateway_route: "route-0", otel_metric_overflow: "true", value: 100 });
  expect(rest[11]).toEqual({ gateway_route: "route-11", otel_metric_overflow: "true", value: 300 });

  // A route that is gone makes room.
  operations.keepRoutes(new Set(["route-11"]));
  operations.add("route-11", call, 1);
  expect(setsOf(operations).map(({ value }) => value)).toEqual([1, 300]);
});
