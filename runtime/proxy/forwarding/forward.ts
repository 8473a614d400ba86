/** The last step of a request: picks its upstream, reads a short body completely, and forwards the request. */
import { readBodyInto } from "../../http/body.ts";
import { respondError } from "../../http/respond.ts";
import type { RequestContext } from "../request-context.ts";
import type { Step } from "../steps.ts";
import { answerFailure } from "./failure.ts";
import { Forwarding, type ForwardDeps } from "./forwarding.ts";
import { grpcCallOf } from "./grpc-call.ts";
import { RequestBody } from "./request-body.ts";

/** Bodies up to this size are read completely and sent in one write with the head. */
const WHOLE_BODY_BYTES = 65_536;

/** Step: responds to every outcome, so it is the last one. */
export function forward(deps: ForwardDeps): Step {
  return (context) => {
    begin(deps, context);
    return "done";
  };
}

function begin(deps: ForwardDeps, context: RequestContext): void {
  const { exchange, prepared } = context;
  const upstream = context.messageAddress?.upstream ?? prepared.balancer.pick(deps.clock, context);
  if (upstream === undefined) {
    if (context.outcome) context.outcome.failure = "unhealthy";
    const status = answerFailure(context, "unhealthy");
    deps.metrics?.answered(prepared.route, status, 0);
    return;
  }
  const grpc = grpcCallOf(context, upstream);
  if (grpc === "malformed") {
    deps.metrics?.answered(prepared.route, 400, 0);
    respondError(exchange, 400, { code: "request.grpc-timeout", message: "grpc-timeout of this call is invalid" });
    return;
  }
  const forwarding = new Forwarding(deps, context, upstream, grpc);
  if (context.message !== undefined || !exchange.hasBody) {
    forwarding.sendGuarded(context.tasks?.bytes ?? context.message?.bytes);
    return;
  }
  const declared = exchange.header("content-length");
  if (declared === undefined || Number(declared) > WHOLE_BODY_BYTES) {
    forwarding.sendGuarded(new RequestBody(exchange, grpc !== undefined), declared);
    return;
  }
  readBodyInto(exchange, WHOLE_BODY_BYTES, (body) => {
    if (body.ok) forwarding.sendGuarded(body.bytes);
    else forwarding.onFailure(body.reason === "overloaded" ? "overloaded" : "request-body", body.reason);
  });
}
