/**
 * What may be changed in a source, one small change for each mutant.
 *
 * Left alone: types, imports, keys of objects, and strings with a blank in them, which are words for people: a text that is
 * put in other words is no defect.
 */
import { type Node, nodeAt, nodesAt } from "./syntax.ts";

export interface Change {
  readonly operator: string;
  readonly start: number;
  readonly end: number;
  /** What stands there instead. */
  readonly replacement: string;
}

const COMPARISONS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    "<": ["<=", ">="],
    "<=": ["<", ">"],
    ">": [">=", "<="],
    ">=": [">", "<"],
    "===": ["!=="],
    "!==": ["==="],
    "==": ["!="],
    "!=": ["=="],
  }),
);

const ARITHMETIC: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "+": "-",
    "-": "+",
    "*": "/",
    "/": "*",
    "%": "*",
    "&": "|",
    "|": "&",
    "<<": ">>",
    ">>": "<<",
    ">>>": "<<",
  }),
);

/** Assignments that also count. */
const ASSIGNMENTS: ReadonlyMap<string, string> = new Map(
  Object.entries({ "+=": "-=", "-=": "+=", "|=": "&=", "&=": "|=", "??=": "=" }),
);

const METHODS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    some: "every",
    every: "some",
    startsWith: "endsWith",
    endsWith: "startsWith",
    min: "max",
    max: "min",
  }),
);

/** Methods whose value is much like what they are called on. */
const PASSED_OVER = new Set([
  "filter",
  "toLowerCase",
  "toUpperCase",
  "trim",
  "toSorted",
  "slice",
  "reverse",
  "toReversed",
]);

/** Everything that can be changed at one node. */
export function changesAt(node: Node, around: readonly Node[], source: string): readonly Change[] {
  const text = ({ start, end }: Node): string => source.slice(start, end);
  const parent = around.at(-1);
  const change = (operator: string, at: { start: number; end: number }, replacement: string): Change => ({
    operator,
    start: at.start,
    end: at.end,
    replacement,
  });
  /** An operator between two operands. */
  const infix = (name: string, left: Node, operator: string, right: Node, replacement: string): Change => {
    const start = source.indexOf(operator, left.end);
    return start < 0 || start >= right.start
      ? change(name, node, text(node))
      : change(name, { start, end: start + operator.length }, replacement);
  };
  switch (node.type) {
    case "IfStatement":
    case "ConditionalExpression": {
      const test = nodeAt(node, "test");
      return test ? [change("condition", test, "true"), change("condition", test, "false")] : [];
    }
    case "WhileStatement":
    case "ForStatement":
    case "DoWhileStatement": {
      const test = nodeAt(node, "test");
      return test && !isTrue(test) ? [change("condition", test, "false")] : [];
    }
    case "LogicalExpression": {
      const [left, right] = [nodeAt(node, "left"), nodeAt(node, "right")];
      if (!left || !right) return [];
      const operator = String(node["operator"]);
      if (operator === "??") return [change("logical", node, text(left)), change("logical", node, text(right))];
      // The nearer operand is put into brackets by its own precedence only where it stands alone.
      const other = operator === "&&" ? "||" : "&&";
      const whole = `((${text(left)}) ${other} (${text(right)}))`;
      const neutral = operator === "&&" ? "true" : "false";
      return [change("logical", node, whole), change("operand", left, neutral), change("operand", right, neutral)];
    }
    case "BinaryExpression": {
      const [left, right] = [nodeAt(node, "left"), nodeAt(node, "right")];
      if (!left || !right) return [];
      const operator = String(node["operator"]);
      const comparisons = COMPARISONS.get(operator);
      if (comparisons) return comparisons.map((each) => infix("comparison", left, operator, right, each));
      const arithmetic = ARITHMETIC.get(operator);
      if (arithmetic === undefined || [left, right].some(isText)) return [];
      return [infix("arithmetic", left, operator, right, arithmetic)];
    }
    case "UnaryExpression": {
      const operand = nodeAt(node, "argument");
      return operand && node["operator"] === "!" ? [change("negation", node, `!!(${text(operand)})`)] : [];
    }
    case "UpdateExpression":
      return [
        change(
          "update",
          node,
          text(node).replace(/\+\+|--/, (each) => (each === "++" ? "--" : "++")),
        ),
      ];
    case "AssignmentExpression": {
      const [left, right] = [nodeAt(node, "left"), nodeAt(node, "right")];
      const other = ASSIGNMENTS.get(String(node["operator"]));
      if (!left || !right || other === undefined || isText(right)) return [];
      return [infix("assignment", left, String(node["operator"]), right, other)];
    }
    case "ReturnStatement": {
      const value = nodeAt(node, "argument");
      if (!value || value.type === "Literal" || text(value) === "undefined") return [];
      return [change("return", value, "undefined")];
    }
    case "ArrowFunctionExpression": {
      const body = nodeAt(node, "body");
      if (!body || body.type === "BlockStatement" || body.type === "Literal") return [];
      return text(body) === "undefined" ? [] : [change("return", body, "undefined")];
    }
    case "Literal":
      return literal(node, parent, source).map((each) => change("literal", node, each));
    case "TemplateLiteral":
      return text(node).includes(" ") || parent?.type === "TaggedTemplateExpression"
        ? []
        : [change("literal", node, '""')];
    case "ArrayExpression":
      return nodesAt(node, "elements").length > 0 ? [change("literal", node, "[]")] : [];
    case "ExpressionStatement": {
      const isCall = /Call|Await|Assignment|Chain/.test(nodeAt(node, "expression")?.type ?? "");
      return isCall ? [change("statement", node, ";")] : [];
    }
    case "ThrowStatement":
      return [change("statement", node, ";")];
    case "BreakStatement":
    case "ContinueStatement":
      return around.some(({ type }) => type === "SwitchStatement") ? [] : [change("statement", node, ";")];
    case "MemberExpression":
      return member(node, parent, source).map(([start, end, by]) => change("chain", { start, end }, by));
    case "CallExpression": {
      const [callee] = [nodeAt(node, "callee")];
      const name = callee && nodeAt(callee, "property");
      const object = callee && nodeAt(callee, "object");
      if (callee?.type !== "MemberExpression" || !name || !object || callee["computed"] === true)
        return optionalCall(node, source);
      const other = METHODS.get(text(name));
      if (other !== undefined) return [change("method", name, other)];
      return PASSED_OVER.has(text(name)) ? [change("method", node, text(object))] : optionalCall(node, source);
    }
    default:
      return [];
  }
}

const isTrue = (node: Node): boolean => node["value"] === true;

const isText = (node: Node): boolean => typeof node["value"] === "string" || node.type === "TemplateLiteral";

/** `a?.b` as `a.b`. */
function member(node: Node, parent: Node | undefined, source: string): readonly [number, number, string][] {
  const object = nodeAt(node, "object");
  if (node["optional"] !== true || !object || parent?.type === "TSNonNullExpression") return [];
  const start = source.indexOf("?.", object.end);
  return start < 0 ? [] : [[start, start + 2, source[start + 2] === "[" ? "" : "."]];
}

/** `a?.()` as `a()`. */
function optionalCall(node: Node, source: string): readonly Change[] {
  const callee = nodeAt(node, "callee");
  if (node["optional"] !== true || !callee) return [];
  const start = source.indexOf("?.", callee.end);
  return start < 0 ? [] : [{ operator: "chain", start, end: start + 2, replacement: "" }];
}

function literal(node: Node, parent: Node | undefined, source: string): readonly string[] {
  const { value } = node;
  // A key says where something stands, and an import whence it comes.
  if (parent && /Export|Import/.test(parent.type)) return [];
  if (parent?.type === "Property" && nodeAt(parent, "key") === node) return [];
  if (parent?.type === "MemberExpression" && nodeAt(parent, "property") === node && typeof value === "string")
    return [];
  if (typeof value === "boolean") return [String(!value)];
  if (typeof value === "number") return [String(value + 1)];
  if (typeof value === "string") return value === "" ? ['"mutated"'] : value.includes(" ") ? [] : ['""'];
  if (node["regex"] !== undefined) {
    const whole = source.slice(node.start, node.end);
    const without = [whole.replace(/^\/\^/, "/"), whole.replace(/\$(?=\/[a-z]*$)/, "")];
    return without.filter((each) => each !== whole && !each.startsWith("//"));
  }
  return [];
}
