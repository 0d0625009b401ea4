import { maskLiterals, mentions, namesAny } from '../../kernel/where/literals.ts';
import type { Database } from '../../platform/postgres/database.ts';
import type { EraseRemain } from '../contract.ts';
import { deleteView, forgetConditionOf, listConditions, listViews } from './erase-queries.ts';
import type { Matches } from './find-matches.ts';
import { leftAnyway } from './receipt.ts';
import type { EraseScope } from './scope.ts';

/** How many conditions the receipt names. */
const mostNamed = 20;

/**
 * Masks the values in the `where` of what has ended, such as an export or a deleted endpoint, if it names whoever is
 * erased. What is still at work keeps its own, since without it it would do something else: the answer names it. Saved
 * views of the console that name them are deleted.
 */
export async function forgetConditions(
  db: Database,
  { tenant, eventIds, subject }: EraseScope,
  { foundIds, requestId }: Pick<Matches, 'foundIds'> & { requestId: string },
): Promise<EraseRemain[]> {
  if (eventIds === null && subject === null) return [];
  const names = [...(eventIds ?? []), ...foundIds, ...(subject === null ? [] : [subject.value])];
  const views = (await listViews(db, tenant)).filter((view) => isOf(view, names));
  for (const view of views) await deleteView(db, view);
  const found = (await listConditions(db, tenant, requestId)).filter(({ kind, where }) =>
    kind === 'approval' ? asksFor(where, names) : namesAny(where, names),
  );
  const ended = found.filter(({ has_ended }) => has_ended);
  for (const one of ended) {
    await forgetConditionOf(db, { ...one, tenant, masked: maskLiterals(one.where) });
  }
  const left = views.length + ended.length > 0 ? leftAnyway() : [];
  const kept = found.filter(({ has_ended }) => !has_ended).map(({ kind, id }) => `${kind} ${id}`);
  if (kept.length === 0) return left;
  const more = kept.length > mostNamed ? ` and ${kept.length - mostNamed} more` : '';
  const named = kept.slice(0, mostNamed).join(', ') + more;
  const note = `The where of these, or what they ask for, names what was erased, and goes on: ${named}. Change, delete or reject them, and erase once more to have it forgotten.`;
  return [{ what: 'conditions', until: null, note }, ...left];
}

/** Whether a request has one of these as a value of a field, or names it in its reason, which is free text. */
function asksFor(body: string, names: readonly string[]): boolean {
  const { tenant: _tenant, store: _store, reason = '', ...fields } = JSON.parse(body);
  const values = new Set(valuesIn(fields));
  return names.some((name) => values.has(name) || mentions(String(reason), name));
}

function valuesIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(valuesIn) : [];
}

/** Whether a view is called so, or looks for that: its address has a `where` or another filter. */
function isOf({ name, address }: { name: string; address: string }, names: readonly string[]) {
  const filters = [...new URLSearchParams(address.slice(address.indexOf('?') + 1)).values()];
  return [name, ...filters].some((text) => names.includes(text) || namesAny(text, names));
}
