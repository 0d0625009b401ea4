import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { isAskedByPerson } from '../kernel/actor.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Audit, NoteRead } from '../platform/audit.ts';
import type { Queryable } from '../platform/postgres/database.ts';

/** So long what a person reads of the same slice is one entry, in each process. */
const sameMillis = 600_000;

/** Which page of a slice it is. */
const pageNames = new Set(['cursor', 'limit', 'order', 'start', 'follow']);
/** What may name a person. The audit log must not remember one who is erased, and keeps no values of a `where`. */
const contentNames = new Set(['event_id', 'template']);

/** Makes what notes the reads of people; `isOn` is false where nobody asked for that. */
export function createReadNotes(
  db: Queryable,
  { audit, clock, isOn }: { audit: Audit; clock: Clock; isOn: boolean },
): NoteRead {
  const noted = new LRUCache<string, { atMillis: number; done: Promise<void> }>({ max: 10_000 });
  return async ({ actor, request }, what, read) => {
    if (!isOn || !isAskedByPerson(actor)) return read();
    const slice = Object.entries(what).filter(
      ([name, value]) => value !== undefined && !pageNames.has(name),
    );
    const key = createHash('sha256')
      .update(JSON.stringify([actor.tokenId, slice]))
      .digest('base64');
    let note = noted.get(key);
    if (note === undefined || clock() - note.atMillis >= sameMillis) {
      const after = slice.map(([name, value]) => [name, contentNames.has(name) ? true : value]);
      const entry = { actor, request, action: 'records.read', target: null };
      const done = audit(db, {
        ...entry,
        tenant: what.tenant ?? null,
        after: Object.fromEntries(after),
      });
      note = { atMillis: clock(), done };
      noted.set(key, note);
      // What could not be written is tried again by the next page.
      done.catch(() => noted.delete(key));
    }
    // Both at once: a page waits for the entry only where that takes longer than the page itself.
    const [answer] = await Promise.all([read(), note.done]);
    return answer;
  };
}
