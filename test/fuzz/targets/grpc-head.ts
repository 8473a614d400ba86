/** Heads of gRPC and gRPC-Web calls: time limits, and which calls are such. */
import { isGrpcCall, isGrpcWebCall, parseGrpcTimeout } from "../../../runtime/http/grpc.ts";
import { must, partsOf } from "../oracle.ts";

export function fuzz(data: Uint8Array): void {
  const [timeout = "", contentType = ""] = partsOf(data);
  const ms = parseGrpcTimeout(timeout);
  must(ms === undefined || (Number.isFinite(ms) && ms >= 0 && ms <= 99_999_999 * 3_600_000), "no time", timeout);
  const head = { header: (name: string) => (name === "content-type" ? contentType : undefined) };
  const call = { ...head, httpVersion: "2" as const, method: "POST", hasBody: true };
  const isGrpc = isGrpcCall(call);
  const isWeb = isGrpcWebCall(call);
  must(!(isGrpc && isWeb), "both at once", contentType);
  must(!isGrpc || /^application\/grpc(?![a-z-])/i.test(contentType), "no gRPC", contentType);
  must(!isWeb || /^application\/grpc-web/i.test(contentType), "no gRPC-Web", contentType);
}
