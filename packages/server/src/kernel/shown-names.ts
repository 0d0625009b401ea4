import { type Actor, serviceActor } from './actor.ts';

type Reader = Pick<Actor, 'name' | 'scopes' | 'tenants'>;

/** Whether a caller may know operators by name: a tenant's people and programs, who reach only its webhooks, may not. */
function knowsOperators({ scopes, tenants }: Pick<Actor, 'scopes' | 'tenants'>): boolean {
  return (
    tenants === null ||
    !scopes.every((scope) => /^(webhooks|endpoints|deliveries|dlq):/.test(scope))
  );
}

/**
 * Returns the name of whoever did something as this caller may know it. A tenant is told who of its own people it was, and
 * of all others only that it was an operator: the name of an operator's token may say anything.
 */
export function shownName(reader: Reader, name: string): string {
  if (knowsOperators(reader)) return name;
  const isTheirs =
    [reader.name, serviceActor.name].includes(name) ||
    reader.tenants?.some((tenant) => `${name}:`.startsWith(`portal of ${tenant}:`));
  return isTheirs ? name : 'an operator';
}

/** The fields of answers that name somebody, and those in which such answers lie. No payload of a tenant is looked at. */
const naming = new Set(['disabled_by', 'created_by', 'requested_by', 'polled_by']);
const holding = new Set(['story', 'jobs', 'webhooks', 'endpoints', 'polled']);

/** Returns an answer with the names in it as this caller may know them. */
export function withShownNames<T>(reader: Reader, answer: T): T;
export function withShownNames(reader: Reader, answer: unknown): unknown {
  return knowsOperators(reader) ? answer : searched(reader, answer);
}

function searched(reader: Reader, answer: unknown): unknown {
  if (Array.isArray(answer)) return answer.map((each) => searched(reader, each));
  if (answer === null || typeof answer !== 'object') return answer;
  // Anything else than a plain object, such as the reply itself, is no answer in JSON.
  if (Object.getPrototypeOf(answer) !== Object.prototype) return answer;
  const isPage = 'next_cursor' in answer;
  const shown = Object.entries(answer).map(([key, value]) => {
    if (naming.has(key) && typeof value === 'string') return [key, shownName(reader, value)];
    const isSearched = holding.has(key) || (isPage && key === 'data');
    return [key, isSearched ? searched(reader, value) : value];
  });
  return Object.fromEntries(shown);
}
