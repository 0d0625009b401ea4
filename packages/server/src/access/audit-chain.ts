import { createHash } from 'node:crypto';
import type { Static } from 'typebox';
import type { Database } from '../platform/postgres/database.ts';
import type { auditCheckSchema, auditVerdictSchema } from './audit-chain.contract.ts';
import { listAuditLinks, listUnlinkedEntries } from './audit-queries.ts';
import { findFault, readNote, type Sealer } from './seal-audit.ts';
import { readSealed } from './seal-queries.ts';

type Verdict = Static<typeof auditVerdictSchema>;
type Problem = Verdict['problems'][number];

const comparedAtOnce = 10_000;
const mostProblems = 100;

/**
 * Verifies the chain of the audit log: that each entry is there and has the hash that follows from the one before it,
 * that no entry stands beside the chain, that entries which were pruned were pruned by svcctl, and that the chain is the
 * one that was sealed.
 */
export async function verifyAuditLog(
  db: Database,
  { head }: Static<typeof auditCheckSchema>,
  { sealer, signal }: { sealer: Sealer; signal: AbortSignal },
): Promise<Verdict> {
  const problems: Problem[] = [];
  let problemCount = 0;
  const report = (problem: Problem) => {
    problemCount += 1;
    if (problems.length < mostProblems) problems.push(problem);
  };
  const note = await readNote(sealer);
  // One snapshot: what is written, sealed or pruned meanwhile changes nothing.
  return db.transaction(
    async (snapshot) => {
      const sealed = await readSealed(snapshot);
      const { chain, seal } = sealed;
      let noted = head === undefined ? undefined : parseHead(head);
      if (noted?.place === chain.pruned_place && noted.hash === chain.pruned_hash) {
        noted = undefined;
      }
      let last = { place: chain.pruned_place, hash: chain.pruned_hash };
      // Where the chain begins, as the entries of prunings tell it; null: one of the release before did not tell.
      let told: string | null = `0:${emptyHash}`;
      let isTold = false;
      let entries = 0;
      for (let read = comparedAtOnce; read === comparedAtOnce; ) {
        signal.throwIfAborted();
        const links = await listAuditLinks(snapshot, { after: last.place, limit: comparedAtOnce });
        for (const link of links) {
          if (link.place !== last.place + 1) report(missing(last.place + 1, link.place - 1));
          // Where a link is missing, the hash of the one after it has nothing to follow from.
          else if (link.is_gone || !link.is_right) report(differing(link));
          if (link.is_pruning) {
            // What went between two prunings went past svcctl. What went before the first one cannot be known any more.
            if (
              isTold &&
              told !== null &&
              link.pruned_before !== null &&
              link.pruned_before !== told
            )
              report(unpruned(placeOf(told) + 1, placeOf(link.pruned_before)));
            told = link.pruned_to;
            isTold = true;
          }
          if (link.place === noted?.place && link.hash === noted.hash) noted = undefined;
          last = link;
        }
        entries += links.length;
        read = links.length;
      }
      if (told !== null && told !== `${chain.pruned_place}:${chain.pruned_hash}`)
        report(unpruned(placeOf(told) + 1, chain.pruned_place));
      if (last.place < chain.last_place) report(missing(last.place + 1, chain.last_place));
      else if (last.hash !== chain.last_hash) report(endDiffers(last.place));
      for (const id of await listUnlinkedEntries(snapshot, mostProblems)) report(inserted(id));
      if (noted !== undefined) report(headDiffers(noted.place));
      const fault = await findFault(snapshot, sealer, { ...sealed, note });
      if (fault !== null) {
        report({ kind: 'seal_differs', place: null, entry_id: null, message: fault });
      }
      return {
        ok: problemCount === 0,
        entries,
        head: `${chain.last_place}:${chain.last_hash}`,
        pruned_place: chain.pruned_place,
        seal:
          seal === undefined ? null : { key_id: seal.key_id, since: seal.since, place: seal.place },
        problem_count: problemCount,
        problems,
      };
    },
    { isolation: 'repeatable read' },
  );
}

/** What the chain follows from at its beginning: the SHA-256 of nothing. */
const emptyHash = createHash('sha256').digest('hex');

function placeOf(head: string): number {
  return parseHead(head).place;
}

function parseHead(head: string): { place: number; hash: string } {
  const [place = '', hash = ''] = head.split(':');
  return { place: Number(place), hash };
}

function differing(link: { place: number; entry_id: string; is_gone: boolean }): Problem {
  const { place, entry_id, is_gone } = link;
  return is_gone
    ? { kind: 'removed', place, entry_id, message: `Entry ${entry_id} was removed.` }
    : {
        kind: 'changed',
        place,
        entry_id,
        message: `Entry ${entry_id} is not what was written, or does not follow the entry before it.`,
      };
}

function missing(first: number, last: number): Problem {
  const which = first === last ? `Place ${first} is` : `Places ${first} to ${last} are`;
  return {
    kind: 'removed',
    place: first,
    entry_id: null,
    message: `${which} missing in the chain: entries were removed together with their links.`,
  };
}

function unpruned(first: number, last: number): Problem {
  const which = first < last ? `Places ${first} to ${last} are` : `Place ${last} is`;
  return {
    kind: 'removed',
    place: first,
    entry_id: null,
    message: `${which} said to be pruned, but no entry audit.prune of the chain tells it: entries were removed past svcctl.`,
  };
}

function inserted(id: string): Problem {
  const message = `Entry ${id} is not in the chain: it was inserted past svcctl.`;
  return { kind: 'inserted', place: null, entry_id: id, message };
}

function endDiffers(place: number): Problem {
  const message = 'The chain does not end as it was noted: its links were computed anew.';
  return { kind: 'changed', place, entry_id: null, message };
}

function headDiffers(place: number): Problem {
  const message = `Place ${place} does not have the hash that was given, or was pruned since: the log may be another one.`;
  return { kind: 'head_differs', place, entry_id: null, message };
}
