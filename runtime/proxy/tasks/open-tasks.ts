/** Steps of MCP server routes: a task belongs to its creator, and to its tool. */
import { mayUse } from "../../policy/reach.ts";
import type { Blocks } from "../../identity/blocks.ts";
import { noTaskListAnswer, refusalAnswer, undeclaredTasksAnswer, unknownTaskAnswer } from "../../mcp/refuse.ts";
import { refusal } from "../../mcp/refusals.ts";
import type { OpenedTask, TaskIds } from "../../mcp/tasks/task-ids.ts";
import { declaresTasks, isAboutTask, mayNameTask } from "../../mcp/tasks/task-requests.ts";
import { openListened, openTasks as openIn } from "../../mcp/tasks/task-requests.ts";
import { bindingOf } from "../announced-address.ts";
import { refuse, type DecideDeps } from "../decide.ts";
import { planListened } from "../history/check.ts";
import { answerWire } from "../answers/answer-wire.ts";
import type { RequestContext } from "../request-context.ts";
import type { StepOutcome, Step } from "../steps.ts";

export interface OpenTaskDeps extends Omit<DecideDeps, "blocks"> {
  readonly taskIds: TaskIds;
  /** Absent: nothing is ever blocked. */
  readonly blocks?: Pick<Blocks, "size" | "find" | "hasTools" | "blockedTools">;
}

/** Step: rejects a message about a task that is not this caller's on this route. */
export function openTasks(deps: OpenTaskDeps): Step {
  return (context) => {
    const { message, exchange } = context;
    if (message === undefined || !mayNameTask(message)) return "next";
    if (message.facts.method === "tasks/list") {
      const answer = noTaskListAnswer(message.id, exchange.id);
      return refuse(deps, context, "mcp-task-list-not-served", () => answerWire(context, answer));
    }
    if (message.isModern && message.facts.method === "tasks/result") return refuseUnknown(deps, context);
    if (message.isModern && isAboutTask(message.facts.method) && !declaresTasks(message)) {
      const answer = undeclaredTasksAnswer(message.id, exchange.id);
      return refuse(deps, context, "mcp-task-undeclared", () => answerWire(context, answer));
    }
    const opened = openIn(message, opener(deps, context));
    if (opened === "unknown") return refuseUnknown(deps, context);
    context.tasks = opened;
    return "next";
  };
}

/**
 * Step: after the decision, which is about the message. A task gives access to its tool's results, so a caller who may no
 * longer call the tool gets none. The arguments were checked when it was called.
 */
export function checkTasks(deps: OpenTaskDeps): Step {
  return (context) => {
    const { message, tasks, exchange } = context;
    if (tasks?.task !== undefined && !mayUseTool(deps, context, tasks.task)) return refuseUnknown(deps, context);
    if (message?.facts.method !== "subscriptions/listen" || !mayNameTask(message)) return "next";
    const open = opener(deps, context);
    const tools = new Set<string>();
    const listened = openListened(message.bytes, (sealed) => {
      const task = open(sealed);
      if (!task || !mayUseTool(deps, context, task)) return undefined;
      tools.add(task.tool);
      return task;
    });
    if (listened === "unreadable") {
      const why = refusal("mcp-invalid-message", message.id);
      return refuse(deps, context, why.reason, () => answerWire(context, refusalAnswer(why, exchange.id)));
    }
    context.tasks = { ...listened, task: undefined, sealed: undefined };
    context.history = planListened(context, tools);
    return "next";
  };
}

/** True if a task must store its tool. */
export function tracksTools(
  { blocks }: { readonly blocks?: Pick<Blocks, "hasTools"> },
  { prepared: { route, history } }: RequestContext,
): boolean {
  const hasScopes = route.mcp?.kind === "server" && route.mcp.toolScopes !== undefined;
  return hasScopes || route.policy.needsTool || history?.marksCalls === true || blocks?.hasTools(route.key) === true;
}

function mayUseTool(deps: OpenTaskDeps, context: RequestContext, { tool }: OpenedTask): boolean {
  if (!tracksTools(deps, context)) return true;
  const { prepared, principal } = context;
  const { route } = prepared;
  // The task was created before any rule named tools.
  if (tool === "" || !mayUse(route.policy, principal?.user, { kind: "tool", name: tool })) return false;
  const { user, clientId, grantId } = principal ?? {};
  return deps.blocks?.find({ user, clientId, grantId, routeKey: route.key, tool }) === undefined;
}

function opener({ taskIds }: OpenTaskDeps, context: RequestContext): (sealed: string) => OpenedTask | undefined {
  const binding = bindingOf(context);
  return (sealed) => taskIds.open(sealed, binding);
}

function refuseUnknown(deps: OpenTaskDeps, context: RequestContext): StepOutcome | Promise<StepOutcome> {
  const answer = unknownTaskAnswer(context.message, context.exchange.id);
  return refuse(deps, context, "mcp-task-unknown", () => answerWire(context, answer));
}
