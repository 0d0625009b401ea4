import { parser } from '@prometheus-io/lezer-promql';
import type { Series } from './scrape.ts';

type SyntaxNode = ReturnType<typeof parser.parse>['topNode'];

/** What was scraped at a moment, in seconds since 1970. */
export type Scrape = { readonly at: number; readonly series: readonly Series[] };

/** Throws unless the text is an expression of PromQL. */
function parsePromql(text: string): SyntaxNode {
  const { topNode } = parser.parse(text);
  topNode.cursor().iterate(({ type, from }) => {
    if (type.isError) throw new Error(`not PromQL from character ${from} on: ${text}`);
  });
  const [expression] = childrenOf(topNode);
  if (expression === undefined) throw new Error('the expression is empty');
  return expression;
}

/** Each selector of an expression: the metric, and the values that its labels are compared with. */
export function selectorsOf(text: string): { name: string; matchers: Matcher[] }[] {
  const found: { name: string; matchers: Matcher[] }[] = [];
  parsePromql(text)
    .cursor()
    .iterate(({ name, node }) => {
      if (name === 'VectorSelector') found.push(readSelector(node, text));
    });
  return found;
}

/** All labels that an expression names: in selectors, in `by` and in `on`. */
export function labelsOf(text: string): string[] {
  const found = new Set<string>();
  parsePromql(text)
    .cursor()
    .iterate(({ name, from, to }) => {
      if (name === 'LabelName') found.add(text.slice(from, to));
    });
  return [...found];
}

type Matcher = { label: string; op: string; text: string; fits: (value: string) => boolean };
type Value = number | readonly Series[];
type Context = { text: string; scrapes: readonly Scrape[] };

/**
 * Evaluates an expression as Prometheus would right after the last scrape, as far as our rules need it: selectors, `sum`,
 * `max` and `min`, arithmetic, comparison, `and`, `or`, `unless`, `time`, and `rate`, `increase` and `delta` of the first
 * and the last scrape in their range.
 */
export function evaluate(text: string, scrapes: readonly Scrape[]): Value {
  return evaluateNode(parsePromql(text), { text, scrapes });
}

function evaluateNode(node: SyntaxNode, context: Context): Value {
  const children = childrenOf(node);
  const [first] = children;
  switch (node.name) {
    case 'NumberDurationLiteral':
      return Number(textOf(node, context));
    case 'ParenExpr':
      return evaluateNode(needed(first), context);
    case 'VectorSelector':
      return select(readSelector(node, context.text), context.scrapes.at(-1)?.series ?? []);
    case 'AggregateExpr':
      return aggregate(node, context);
    case 'FunctionCall':
      return call(node, context);
    case 'BinaryExpr':
      return combine(node, context);
    default:
      throw new Error(`the tests do not know ${node.name}: ${textOf(node, context)}`);
  }
}

function readSelector(node: SyntaxNode, text: string): { name: string; matchers: Matcher[] } {
  const name = node.getChild('Identifier');
  const list = node.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? [];
  const matchers = list.map((each): Matcher => {
    const [label, op, quoted] = ['LabelName', 'MatchOp', 'StringLiteral'].map((part) =>
      textOf(needed(each.getChild(part)), { text }),
    );
    const given = String(JSON.parse(quoted ?? ''));
    const isSame = op?.endsWith('~')
      ? (value: string) => new RegExp(`^(?:${given})$`).test(value)
      : (value: string) => value === given;
    const fits = op?.startsWith('!') ? (value: string) => !isSame(value) : isSame;
    return { label: label ?? '', op: op ?? '', text: given, fits };
  });
  return { name: textOf(needed(name), { text }), matchers };
}

function select(
  { name, matchers }: { name: string; matchers: readonly Matcher[] },
  series: readonly Series[],
): Series[] {
  return series.filter(
    (each) =>
      each.name === name && matchers.every(({ label, fits }) => fits(each.labels[label] ?? '')),
  );
}

function aggregate(node: SyntaxNode, context: Context): Series[] {
  const op = textOf(needed(node.getChild('AggregateOp')), context);
  const modifier = node.getChild('AggregateModifier');
  if (modifier?.getChild('Without')) throw new Error('the tests know only `by`');
  const by = modifier === null ? [] : namesIn(needed(modifier), context);
  const body = childrenOf(needed(node.getChild('FunctionCallBody')))[0];
  const groups = new Map<string, Series[]>();
  for (const each of vectorOf(evaluateNode(needed(body), context))) {
    const key = keyOf(each, by);
    groups.set(key, [...(groups.get(key) ?? []), each]);
  }
  return [...groups.values()].map((group) => {
    const values = group.map(({ value }) => value);
    const value = op === 'sum' ? values.reduce((sum, each) => sum + each, 0) : extreme(op, values);
    return { name: '', labels: pick(group[0]?.labels ?? {}, by), value };
  });
}

function extreme(op: string, values: readonly number[]): number {
  if (op === 'max') return Math.max(...values);
  if (op === 'min') return Math.min(...values);
  throw new Error(`the tests do not know ${op}`);
}

function call(node: SyntaxNode, context: Context): Value {
  const name = textOf(needed(node.getChild('FunctionIdentifier')), context);
  if (name === 'time') return context.scrapes.at(-1)?.at ?? 0;
  if (!['rate', 'increase', 'delta'].includes(name))
    throw new Error(`the tests do not know ${name}`);
  const matrix = needed(node.getChild('FunctionCallBody')?.getChild('MatrixSelector') ?? null);
  const selector = readSelector(needed(matrix.getChild('VectorSelector')), context.text);
  const range = secondsOf(textOf(needed(matrix.getChild('DurationExpr')), context));
  const end = context.scrapes.at(-1)?.at ?? 0;
  const within = context.scrapes.filter(({ at }) => at >= end - range);
  const [first, last] = [within[0], within.at(-1)];
  if (first === undefined || last === undefined || first === last) return [];
  const before = new Map(select(selector, first.series).map((each) => [keyOf(each), each.value]));
  return select(selector, last.series).flatMap(({ labels, value, name: metric }) => {
    const start = before.get(keyOf({ name: metric, labels, value }));
    if (start === undefined) return [];
    const isReset = name !== 'delta' && value < start;
    const change = isReset ? value : value - start;
    return [{ name: '', labels, value: name === 'rate' ? change / (last.at - first.at) : change }];
  });
}

function combine(node: SyntaxNode, context: Context): Value {
  const [left, ...rest] = childrenOf(node);
  const right = rest.at(-1);
  const op = needed(rest[0]).name;
  const on = node.getChild('MatchingModifierClause');
  const labels = on === null ? undefined : namesIn(on, context);
  const [a, b] = [evaluateNode(needed(left), context), evaluateNode(needed(right), context)];
  if (op === 'And' || op === 'Unless') {
    const keys = new Set(vectorOf(b).map((each) => matchKey(each, labels)));
    return vectorOf(a).filter((each) => keys.has(matchKey(each, labels)) === (op === 'And'));
  }
  if (op === 'Or') {
    const keys = new Set(vectorOf(a).map((each) => matchKey(each, labels)));
    return [...vectorOf(a), ...vectorOf(b).filter((each) => !keys.has(matchKey(each, labels)))];
  }
  const compare = comparisons[op];
  if (compare !== undefined) {
    return pairsOf(a, b, labels).flatMap(({ series, x, y }) => (compare(x, y) ? [series] : []));
  }
  const count = arithmetic[op];
  if (count === undefined) throw new Error(`the tests do not know ${op}`);
  if (typeof a === 'number' && typeof b === 'number') return count(a, b);
  return pairsOf(a, b, labels).map(({ series, x, y }) => ({
    name: '',
    labels: series.labels,
    value: count(x, y),
  }));
}

const comparisons: Readonly<Record<string, (x: number, y: number) => boolean>> = {
  Eql: (x, y) => x === y,
  Neq: (x, y) => x !== y,
  Gtr: (x, y) => x > y,
  Gte: (x, y) => x >= y,
  Lss: (x, y) => x < y,
  Lte: (x, y) => x <= y,
};
const arithmetic: Readonly<Record<string, (x: number, y: number) => number>> = {
  Add: (x, y) => x + y,
  Sub: (x, y) => x - y,
  Mul: (x, y) => x * y,
  Div: (x, y) => x / y,
};

/** The series that an operator puts together: of two vectors those with the same labels. */
function pairsOf(a: Value, b: Value, labels: readonly string[] | undefined) {
  if (typeof a === 'number') {
    return vectorOf(b).map((series) => ({ series, x: a, y: series.value }));
  }
  if (typeof b === 'number') return a.map((series) => ({ series, x: series.value, y: b }));
  const others = new Map(b.map((each) => [matchKey(each, labels), each.value]));
  return a.flatMap((series) => {
    const y = others.get(matchKey(series, labels));
    return y === undefined ? [] : [{ series, x: series.value, y }];
  });
}

function matchKey(series: Series, labels: readonly string[] | undefined): string {
  return keyOf({ ...series, name: '' }, labels);
}

function keyOf(series: Series, labels: readonly string[] = Object.keys(series.labels)): string {
  return JSON.stringify([...labels].sort().map((label) => [label, series.labels[label] ?? '']));
}

function pick(labels: Readonly<Record<string, string>>, names: readonly string[]) {
  return Object.fromEntries(names.map((name) => [name, labels[name] ?? '']));
}

function vectorOf(value: Value): readonly Series[] {
  if (typeof value === 'number') throw new Error('a number stands where series are expected');
  return value;
}

function secondsOf(duration: string): number {
  const [, count, unit = ''] = /^(\d+)([smhd])$/.exec(duration) ?? [];
  const seconds = { s: 1, m: 60, h: 3600, d: 86_400 }[unit];
  if (seconds === undefined) throw new Error(`the tests do not know the duration ${duration}`);
  return Number(count) * seconds;
}

function namesIn(node: SyntaxNode, context: { text: string }): string[] {
  const list = node.getChild('GroupingLabels')?.getChildren('LabelName') ?? [];
  return list.map((each) => textOf(each, context));
}

function childrenOf(node: SyntaxNode): SyntaxNode[] {
  const all: SyntaxNode[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) all.push(child);
  return all;
}

function textOf({ from, to }: SyntaxNode, { text }: { text: string }): string {
  return text.slice(from, to);
}

function needed<T>(node: T | null | undefined): T {
  if (node == null) throw new Error('the expression is not built as the tests expect');
  return node;
}
