/** Policies that several routes share: plain functions of plain data. */
import { allow, and, deny, groups, mcpTool, not, type PolicyRule } from "../../cdktf/index.ts";

/** A group may use the tools that only read; administrators may use all. */
export function readOnlyTools(group: string): readonly PolicyRule[] {
  return [
    allow(groups.has(group)),
    allow(groups.has("admins")),
    deny(and(mcpTool.notIn(["list_issues", "get_issue"]), groups.exclude("admins"))),
    deny(not(groups.has(group), groups.has("admins"))),
  ];
}
