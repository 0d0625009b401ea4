import { type Actor, mayTouchTenant } from '../../../kernel/actor.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { deliveryNotFound, laneOrNotFound } from '../not-found.ts';
import * as queries from './queries.ts';
import { type WaitFacts, type Waiting, whySilent, whyStillDue, whyWaiting } from './waiting.ts';

const maxAttemptsShown = 100;

/** One delivery in any status, with payload and attempts. Throws 404 `delivery_not_found`. */
export async function getDeadLetter(db: Queryable, actor: Actor, id: string) {
  const lane = laneOrNotFound(id);
  const row = await queries.findDelivery(db, lane, id);
  if (row === undefined || !mayTouchTenant(actor, row.tenant)) throw deliveryNotFound();
  const circumstances = await queries.findCircumstances(db, lane, id);
  if (circumstances === undefined) throw deliveryNotFound();
  const attempts = await queries.listAttempts(db, lane, id, maxAttemptsShown);
  return {
    ...row,
    payload: JSON.parse(circumstances.body),
    body: circumstances.body,
    attempt_log: attempts.map((attempt) => ({
      ...attempt,
      response: attempt.response === null ? null : attempt.response.toString('utf8'),
    })),
    waiting: await findWaiting(db, lane, circumstances),
  };
}

async function findWaiting(db: Queryable, lane: number, facts: WaitFacts): Promise<Waiting | null> {
  const waiting = whyWaiting(facts);
  if (waiting === 'finished') return null;
  if (waiting !== 'ask_for_drainer' && waiting.reason !== 'in_flight') return waiting;
  const { answering, silent } = await queries.findDrainers(db, lane);
  if (silent !== null) return whySilent(silent, answering > 0);
  return waiting === 'ask_for_drainer' ? whyStillDue(facts, answering > 0) : waiting;
}
