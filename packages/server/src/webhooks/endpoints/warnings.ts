import type { Queryable } from '../../platform/postgres/database.ts';
import { findTwin } from './queries.ts';

/** The types that SPEC names. Others are allowed; one that was mistyped would never get anything. */
const namedTypes = ['*', 'incident.created', 'incident.updated', 'incident.resolved'];

/** What is allowed of an endpoint and yet seldom meant, one sentence each. */
export async function findWarnings(
  db: Queryable,
  endpoint: { id: string; tenant: string; url: string; event_types: readonly string[] },
): Promise<string[]> {
  const others = endpoint.event_types.filter((type) => !namedTypes.includes(type));
  const twin = await findTwin(db, endpoint);
  return [
    ...(others.length === 0
      ? []
      : [
          `${others.join(', ')}: not among incident.created, incident.updated and incident.resolved. Only incidents that are reported under exactly this type are delivered.`,
        ]),
    ...(twin === undefined
      ? []
      : [
          `${twin} of the same tenant has the same URL: what both want is delivered there twice, under two webhook-ids.`,
        ]),
  ];
}
