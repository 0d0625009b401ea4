import type { Static } from 'typebox';
import { type Actor, mayTouchTenant } from '../../kernel/actor.ts';
import { membersOf } from '../../kernel/json-items.ts';
import { compactMember } from '../../kernel/json-slices.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { filterTrialSchema, triedFilterSchema } from '../contract.ts';
import {
  ask,
  compileFilter,
  type Filtered,
  filteredOf,
  filterSteps,
  subjectOf,
  wantsOf,
} from '../subscription.ts';
import type { FilterReason } from '../values.ts';
import { listNewestBodies } from './queries.ts';
import { toOccurredAt } from './report-incident.ts';

type Trial = Static<typeof filterTrialSchema>;

/**
 * Says which of the newest incidents of a tenant an endpoint would have got with these types, stores and filter, or
 * whether it would get the one that is given, as `jsonText` spells it. Throws 400 `request_invalid`.
 */
export async function tryFilter(
  db: Queryable,
  actor: Actor,
  trial: Trial,
  { jsonText, nowMillis }: { jsonText: string; nowMillis: number },
): Promise<Static<typeof triedFilterSchema>> {
  const passes = trial.where === undefined ? null : compileFilter(trial.where);
  const incidents =
    trial.incident === undefined
      ? await listNewest(db, actor, trial)
      : [given(trial.incident, jsonText, nowMillis)];
  const data = incidents.map(({ id, created_at, ...incident }) => {
    const reason = reasonOf(trial, passes, incident);
    const { type, store } = incident;
    const isPassing = reason === null || reason === 'too_costly';
    return { id, created_at, type, store, passes: isPassing, reason };
  });
  return { looked_at: data.length, passed: data.filter(({ passes }) => passes).length, data };
}

type Tried = Filtered & { id: string | null; created_at: string | null };

async function listNewest(db: Queryable, actor: Actor, trial: Trial): Promise<Tried[]> {
  if (!mayTouchTenant(actor, trial.tenant)) return [];
  const rows = await listNewestBodies(db, trial.tenant, trial.limit ?? 100);
  return rows.map(filteredOf);
}

function given(
  { type, store, occurred_at: at }: NonNullable<Trial['incident']>,
  jsonText: string,
  nowMillis: number,
): Tried {
  const source = membersOf(jsonText).get('incident') ?? '{}';
  const occurredAt = toOccurredAt(at, nowMillis, '/incident/occurred_at');
  const data = compactMember(source, 'data') ?? 'null';
  return { id: null, created_at: null, type, store: store ?? null, occurredAt, data };
}

function reasonOf(
  { event_types: types = ['*'], stores }: Trial,
  passes: ReturnType<typeof compileFilter> | null,
  incident: Filtered,
): FilterReason | null {
  if (!wantsOf(incident.type).some((want) => types.includes(want))) return 'type';
  if (stores !== undefined && (incident.store === null || !stores.includes(incident.store))) {
    return 'store';
  }
  if (passes === null) return null;
  const answer = ask(passes, subjectOf(incident), filterSteps.each);
  if (answer.isUnfiltered) return 'too_costly';
  return answer.passes ? null : 'where';
}
