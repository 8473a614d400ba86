/** Header values of the gateway's own requests. */
import { GatewayError } from "../../shared/errors.ts";
import { headerValueProblem } from "../../shared/http/header-syntax.ts";
import { type SecretSource, secretValues } from "../../settings/secret-forms.ts";

/**
 * @param setting setting that contains the header @throws GatewayError `config.secret`, which does not quote the value
 */
export function headerValue(
  setting: string,
  name: string,
  header: Readonly<Record<string, unknown>>,
  secrets: SecretSource,
): string {
  const [value] = secretValues(header, "value", secrets);
  const problem = value === undefined ? "must have a value" : headerValueProblem(value);
  if (value !== undefined && problem === undefined) return value;
  throw new GatewayError("config.secret", `Cannot use header "${name}" of "${setting}": it ${problem}`);
}
