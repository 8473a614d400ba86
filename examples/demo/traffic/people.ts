/** Invented users, and the calls of their agents. */

export interface TrafficUser {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly groups: readonly string[];
  /** How busy: 1 is usual. */
  readonly weight: number;
}

const user = (name: string, weight: number, ...groups: readonly string[]): TrafficUser => {
  const id = name.toLowerCase().replace(/[^a-z]+/g, ".");
  return { id: `u-${id}`, email: `${id}@example.com`, name, groups, weight };
};

export const TRAFFIC_USERS: readonly TrafficUser[] = [
  user("Bob Okafor", 5, "support"),
  user("Grace Lin", 4, "engineering"),
  user("Dmitri Volkov", 3, "engineering"),
  user("Fatima Rashid", 3, "sales"),
  user("Emeka Obi", 3, "sales", "support"),
  user("Ines Marques", 2, "data"),
  user("Kenji Mori", 2, "data", "engineering"),
  user("Lucia Romero", 2, "support"),
  user("Priya Nair", 2, "engineering"),
  user("Tom Becker", 1, "sales"),
  user("Zoe Martin", 1, "engineering"),
  user("Noah Weber", 1, "support"),
];

export const CLIENTS: readonly string[] = [
  "https://vscode.dev/oauth/client-metadata.json",
  "https://claude.ai/oauth/client-metadata.json",
  "nightly-report",
];

export interface TrafficCall {
  readonly route: string;
  readonly tool?: string;
  readonly given?: Readonly<Record<string, unknown>>;
  readonly weight: number;
  /** Typical time to answer. */
  readonly ms: number;
  /** Groups whose users make it; absent: all. */
  readonly by?: string;
}

/** Weights are chosen so that some calls are denied, and few fail. */
export const CALLS: readonly TrafficCall[] = [
  { route: "demo/app", weight: 14, ms: 18 },
  { route: "demo/github", tool: "list_repos", weight: 12, ms: 60 },
  {
    route: "demo/github",
    tool: "create_issue",
    given: { repo: "gateway", title: "Crash at start" },
    weight: 8,
    ms: 180,
  },
  { route: "demo/github", tool: "create_issue", given: { repo: "website", title: "Typo" }, weight: 1, ms: 150 },
  { route: "demo/github", tool: "delete_repo", given: { repo: "playground" }, weight: 2, ms: 90 },
  { route: "demo/notes", tool: "list_notes", weight: 6, ms: 12, by: "engineering" },
  { route: "demo/notes", tool: "add_note", given: { text: "Release on Friday" }, weight: 4, ms: 15, by: "engineering" },
  { route: "sales/salesforce", tool: "find_contact", given: { name: "Ada" }, weight: 10, ms: 320, by: "sales" },
  {
    route: "sales/salesforce",
    tool: "update_deal",
    given: { deal: 4711, stage: "won" },
    weight: 5,
    ms: 540,
    by: "sales",
  },
  { route: "sales/salesforce", tool: "export_contacts", weight: 1, ms: 400, by: "sales" },
  {
    route: "data/warehouse",
    tool: "run_query",
    given: { sql: "SELECT count(*) FROM orders" },
    weight: 8,
    ms: 1_400,
    by: "data",
  },
  { route: "data/warehouse", tool: "run_query", given: { sql: "SELECT * FROM orders" }, weight: 2, ms: 1_400 },
  { route: "payments/desk", tool: "refund", given: { order: 1204, amount: 40 }, weight: 8, ms: 95, by: "support" },
  { route: "payments/desk", tool: "refund", given: { order: 1377, amount: 900 }, weight: 1, ms: 95, by: "support" },
];
