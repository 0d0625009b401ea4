import { compareText } from '../names.ts';
import type { JsonTree } from './json-tree.ts';
import { likeMatcher } from './like.ts';
import { numberKey } from './number-key.ts';
import type { Check, PlaceOf, Sign, WhereOf } from './where.ts';

/** What a `where` is applied to: the object in which its paths begin, and the columns, each as JSON. */
export type Subject<Column extends string> = {
  readonly object: JsonTree;
  readonly columns: Readonly<Record<Column, JsonTree | undefined>>;
};

/**
 * How many steps may still be done. A step compares one value, or some dozens of characters: a fifth of a microsecond, as
 * was measured for a usual filter and for an array of 40,000 elements.
 */
export type Budget = { steps: number };

/** Says whether the `where` holds; null when the budget was spent before that was known. */
export type Evaluate<Column extends string> = (
  subject: Subject<Column>,
  budget: Budget,
) => boolean | null;

/**
 * Makes a function of a `where`, which is what docs/where.md says, written without SQL: numbers compare exactly, and
 * nothing in it takes longer than its budget.
 */
export function compileWhere<Column extends string>(where: WhereOf<Column>): Evaluate<Column> {
  const holds = compile(where);
  return (subject, budget) => {
    try {
      return holds(subject, budget);
    } catch (error) {
      if (error instanceof Spent) return null;
      throw error;
    }
  };
}

/** Thrown inside when the budget is spent. */
class Spent extends Error {}

/** So many characters are one step. */
const charactersPerStep = 64;

function spend(budget: Budget, steps: number): void {
  budget.steps -= steps;
  if (budget.steps < 0) throw new Spent();
}

type Holds<Column extends string> = (subject: Subject<Column>, budget: Budget) => boolean;
type Fits = (value: JsonTree, budget: Budget) => boolean;

function compile<Column extends string>(where: WhereOf<Column>): Holds<Column> {
  switch (where.op) {
    case 'and': {
      const terms = where.terms.map(compile);
      return (subject, budget) => terms.every((holds) => holds(subject, budget));
    }
    case 'or': {
      const terms = where.terms.map(compile);
      return (subject, budget) => terms.some((holds) => holds(subject, budget));
    }
    case 'not': {
      const holds = compile(where.term);
      return (subject, budget) => !holds(subject, budget);
    }
    case 'exists': {
      const find = compilePlace(where.of);
      return (subject, budget) => find(subject, budget) !== undefined;
    }
    case 'compare': {
      const find = compilePlace(where.of);
      const checks = where.checks.map(compileCheck);
      const { isAny, isNegated } = where;
      const fits: Fits = (value, budget) =>
        checks.some((passes) => passes(value, budget)) !== isNegated;
      return (subject, budget) => {
        const value = find(subject, budget);
        if (value === undefined) return false;
        if (!isAny) return fits(value, budget);
        if (value.kind !== 'array') return false;
        spendOnCut(value, budget);
        return value.elements().some((element) => fits(element, budget));
      };
    }
  }
}

function compilePlace<Column extends string>(
  of: PlaceOf<Column>,
): (subject: Subject<Column>, budget: Budget) => JsonTree | undefined {
  if ('column' in of) return ({ columns }) => columns[of.column];
  const { path } = of;
  return ({ object }, budget) => {
    let at: JsonTree | undefined = object;
    for (const step of path) {
      spendOnCut(at, budget);
      at = at.at(step);
      if (at === undefined) return undefined;
    }
    return at;
  };
}

/** Whoever looks into a value first pays for its being cut. */
function spendOnCut(value: JsonTree, budget: Budget): void {
  spend(budget, value.isWhole ? 1 + value.text.length / charactersPerStep : 1);
}

function compileCheck(check: Check): Fits {
  switch (check.type) {
    case 'word': {
      const words = new Set<string>(check.values);
      return (value, budget) => {
        spend(budget, 1);
        return value.kind === 'word' && words.has(value.text);
      };
    }
    case 'like': {
      const isLike = likeMatcher(check.pattern);
      return (value, budget) => {
        spend(budget, 1);
        if (value.kind !== 'text') return false;
        spend(budget, value.text.length / charactersPerStep);
        return isLike(value.decoded(), (steps) => spend(budget, steps));
      };
    }
    case 'number':
      return compileNumber(check.sign, check.values);
    case 'text':
    case 'time':
      return compileText(check.sign, check.values);
  }
}

function compileText(sign: Sign, values: readonly [string, ...string[]]): Fits {
  const texts = new Set<string>(values);
  const [first] = values;
  return (value, budget) => {
    spend(budget, 1 + value.text.length / charactersPerStep);
    if (value.kind !== 'text') return false;
    const text = value.decoded();
    return sign === '=' ? texts.has(text) : isInOrder(sign, compareText(text, first));
  };
}

/** Rounding to doubles keeps the order of numbers, so only those whose doubles are equal are compared by their keys. */
function compileNumber(sign: Sign, values: readonly [string, ...string[]]): Fits {
  const bounds = values.map((text) => ({ near: Number(text), key: numberKey(text) }));
  return (value, budget) => {
    spend(budget, bounds.length + value.text.length / charactersPerStep);
    if (value.kind !== 'number') return false;
    const near = Number(value.text);
    let key: string | undefined;
    return bounds.some((bound) => {
      if (near !== bound.near) return isInOrder(sign, near - bound.near);
      key ??= numberKey(value.text);
      return isInOrder(sign, key < bound.key ? -1 : key > bound.key ? 1 : 0);
    });
  };
}

function isInOrder(sign: Sign, order: number): boolean {
  if (order === 0) return sign.endsWith('=');
  return order < 0 ? sign.startsWith('<') : sign.startsWith('>');
}
