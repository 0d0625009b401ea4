import { maskLiterals, namesAny } from '../../kernel/where/literals.ts';
import type { Database } from '../../platform/postgres/database.ts';
import type { EraseRemain } from '../contract.ts';
import { deleteView, forgetConditionOf, listConditions, listViews } from './erase-queries.ts';
import type { Matches } from './find-matches.ts';
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
  { foundIds }: Pick<Matches, 'foundIds'>,
): Promise<EraseRemain[]> {
  if (eventIds === null && subject === null) return [];
  const names = [...(eventIds ?? []), ...foundIds, ...(subject === null ? [] : [subject.value])];
  for (const view of await listViews(db, tenant)) {
    if (isOf(view, names)) await deleteView(db, view);
  }
  const found = (await listConditions(db, tenant)).filter(({ where }) => namesAny(where, names));
  for (const one of found.filter(({ has_ended }) => has_ended)) {
    await forgetConditionOf(db, { ...one, tenant, masked: maskLiterals(one.where) });
  }
  const kept = found.filter(({ has_ended }) => !has_ended).map(({ kind, id }) => `${kind} ${id}`);
  if (kept.length === 0) return [];
  const more = kept.length > mostNamed ? ` and ${kept.length - mostNamed} more` : '';
  const named = kept.slice(0, mostNamed).join(', ') + more;
  const note = `The where of these names what was erased, and goes on: ${named}. Change or delete them, and erase once more to have it forgotten.`;
  return [{ what: 'conditions', until: null, note }];
}

/** Whether a view is called so, or looks for that: its address has a `where` or another filter. */
function isOf({ name, address }: { name: string; address: string }, names: readonly string[]) {
  const filters = [...new URLSearchParams(address.slice(address.indexOf('?') + 1)).values()];
  return [name, ...filters].some((text) => names.includes(text) || namesAny(text, names));
}
