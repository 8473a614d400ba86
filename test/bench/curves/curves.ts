/** The curves: what grows, how far, and what is asked meanwhile. Pure. */
export type CurveName = "routes" | "rules" | "sessions" | "tools" | "members" | "streams";

export interface Curve {
  readonly name: CurveName;
  readonly title: string;
  readonly xTitle: string;
  /** What is asked, and what the lines are; Markdown. */
  readonly about: string;
  readonly points: readonly number[];
  readonly quickPoints: readonly number[];
}

/** Of each member of a federated endpoint. */
export const MEMBER_TOOLS = 10;

export const CURVES: readonly Curve[] = [
  {
    name: "routes",
    title: "Routes",
    xTitle: "routes",
    about:
      "GET with a session. Each route has a host of its own and a policy. Two of five lead to an upstream, three are redirects.",
    points: [10, 100, 1000, 10_000, 100_000],
    quickPoints: [10, 1000, 10_000],
  },
  {
    name: "rules",
    title: "Rules of a route",
    xTitle: "rules of the policy",
    about:
      "GET with a session. Each rule allows another domain of email addresses; the user is of the last one. Criteria that differ only in one text are looked up together.",
    points: [1, 10, 100, 1000],
    quickPoints: [1, 100, 1000],
  },
  {
    name: "sessions",
    title: "Sessions",
    xTitle: "sessions in the store",
    about:
      "GET. A user has ten sessions. One line: 1,000 of the sessions are active. The other line: all are active, up to 60,000, so that requests in turn are of different sessions. The process keeps 50,000 verified sessions in memory, and reads each again after 20 seconds. With many active sessions most requests are the first of theirs in this process: its records are read from the store (SQLite), the time of its use is written there, and an assertion for the upstream is signed. That costs more, but hardly more with more sessions.",
    points: [100, 1000, 10_000, 100_000, 1_000_000],
    quickPoints: [100, 10_000, 100_000],
  },
  {
    name: "tools",
    title: "Tools of a server",
    xTitle: "tools of the MCP server",
    about:
      "The server has a tool lock with a digest for each tool, and a policy that denies some names. `tools/call` of the last tool, and `tools/list`, where the time is divided by the number of tools.",
    points: [10, 100, 1000, 5000],
    quickPoints: [10, 1000],
  },
  {
    name: "members",
    title: "Members of a federated endpoint",
    xTitle: "members",
    about: `Each member has ${MEMBER_TOOLS} tools. \`tools/call\` of a tool of the last member, and \`tools/list\`, where the time is divided by the number of tools.`,
    points: [1, 5, 20, 50],
    quickPoints: [1, 20],
  },
  {
    name: "streams",
    title: "Open streams",
    xTitle: "open event streams",
    about:
      "GET with a session while event streams are open: real ones, from client to upstream, as far as the machine lets a process open files. The other line is a simulation: the process holds only the list of open streams, and each step adds a stream to it and removes it. It grows with misses of the processor's cache.",
    points: [100, 1000, 5000, 10_000, 100_000],
    quickPoints: [100, 1000],
  },
];
