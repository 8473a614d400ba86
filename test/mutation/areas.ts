/** What is mutated, and the tests that are there for it: in this process, without others that they would have to start. */
import { globSync } from "node:fs";

export interface Area {
  readonly name: string;
  readonly sources: readonly string[];
  readonly tests: readonly string[];
}

export const AREAS: readonly Area[] = [
  {
    name: "policy",
    sources: ["runtime/policy/**/*.ts"],
    tests: [
      "test/runtime/policy/**/*.test.ts",
      "test/runtime/audit/replay/*.test.ts",
      "test/runtime/config/approve-rules.test.ts",
    ],
  },
  {
    name: "issuer",
    sources: ["runtime/oauth/server/**/*.ts"],
    tests: [
      "test/runtime/oauth/server/**/*.test.ts",
      "test/flows/issuer*.test.ts",
      "test/flows/client-documents.test.ts",
      "test/flows/{id-jag,workload,mcp-address,second-provider,upstream-connect}.test.ts",
      "test/hostile/{id-jag,id-jag-fuzz,workload,workload-fuzz,client-keys,budgets,differential-issuer}.test.ts",
    ],
  },
  {
    name: "tokens",
    sources: [
      "runtime/identity/tokens/*.ts",
      "runtime/identity/users/asserted*.ts",
      "runtime/issuers/*.ts",
      "runtime/shared/{keys,key-set,canonical-json,user-id}.ts",
    ],
    tests: [
      "test/runtime/{issuers,identity/{tokens,users}}/*.test.ts",
      "test/runtime/identity/*.test.ts",
      "test/runtime/shared/*.test.ts",
      "test/runtime/verify.test.ts",
      "test/flows/{id-jag,workload,bearer-tokens,application-tokens}.test.ts",
      "test/hostile/{id-jag,id-jag-fuzz,workload,workload-fuzz,minted-tokens,logout-tokens}.test.ts",
    ],
  },
  {
    name: "owners",
    sources: ["runtime/config/*.ts"],
    tests: ["test/runtime/config/**/*.test.ts", "test/hostile/{owners,slices,neighbours}.test.ts"],
  },
  {
    name: "chain",
    sources: ["runtime/audit/chain/*.ts"],
    tests: [
      "test/runtime/audit/chain/{chain,checkpoint}.test.ts",
      "test/runtime/audit/*.test.ts",
      "test/runtime/tools/**/*.test.ts",
    ],
  },
];

const listed = (patterns: readonly string[], root: string): string[] =>
  [...new Set(patterns.flatMap((each) => globSync(each, { cwd: root })))].toSorted();

/** The files of an area: of its sources those that were asked for, by their beginnings. */
export function filesOf(
  area: Area,
  root: string,
  wanted: readonly string[],
): { readonly sources: readonly string[]; readonly tests: readonly string[] } {
  const sources = listed(area.sources, root);
  const isWanted = (file: string): boolean => wanted.length === 0 || wanted.some((each) => file.startsWith(each));
  return { sources: sources.filter(isWanted), tests: listed(area.tests, root) };
}
