import sql, { join, raw, type Sql } from 'sql-template-tag';
import { holdsText } from '../platform/postgres/sql-text.ts';
import type { DeliveryStatus, FailureClass } from './values.ts';

// What lists of deliveries and incidents are searched for. Whatever another table knows is asked for by a subquery that
// yields one value: PostgreSQL looks it up for each row of the scan, and cannot make a join of it that reads everything.

/** Filters of both lists that no index serves: the rows of the source are read and compared. */
export type SoughtInBoth = {
  /** A type; with `.*` or a dot at its end all that begin so; `*` for all. */
  type?: string | undefined;
  status?: DeliveryStatus | undefined;
  failureClass?: FailureClass | null | undefined;
  /** A status of HTTP, as 503, or all of a kind, as 5xx. */
  code?: string | undefined;
  /** A webhook-id, the id of a request, or the idempotency key of a report. */
  otherId?: string | undefined;
  text?: SoughtText | undefined;
};

/** A text in any case, and whether the caller may read answers of receivers. */
export type SoughtText = { readonly text: string; readonly isInAnswers: boolean };

export function isOfType(column: string, pattern: string): Sql {
  if (pattern === '*') return sql`true`;
  const begin = pattern.replace(/\*$/, '');
  return begin.endsWith('.')
    ? sql`starts_with(${raw(column)}, ${begin})`
    : sql`${raw(column)} = ${pattern}`;
}

export function ofDelivery({ status, failureClass, code }: SoughtInBoth): Sql[] {
  const conditions: Sql[] = [];
  if (status !== undefined) conditions.push(sql`d.status = ${status}`);
  if (failureClass) conditions.push(sql`d.failure_class = ${failureClass}`);
  if (code?.endsWith('xx')) {
    const first = Number(code[0]) * 100;
    conditions.push(sql`d.last_status between ${first}::int and ${first + 99}::int`);
  } else if (code !== undefined) {
    conditions.push(sql`d.last_status = ${Number(code)}::int`);
  }
  return conditions;
}

/** Whether the incident with this id was reported by that request, or under that key. */
export const isReportedAs = (incident: string, id: string): Sql => sql`(
  (select i.request_id = ${id} from incidents i where i.id = ${raw(incident)})
  or (select bool_or(k.idempotency_key = ${id}) from incident_keys k where k.incident_id = ${raw(incident)}))`;

export const isInPayload = (incident: string, { text }: SoughtText): Sql =>
  sql`(select ${holdsText(sql`i.body`, text)} from incidents i where i.id = ${raw(incident)})`;

/** Whether an answer to the delivery `d` has the text. Any bytes but ASCII are octal numbers on both sides. */
export const isInAnswer = ({ text }: SoughtText): Sql => sql`(
  select bool_or(${holdsText(sql`encode(a.response, 'escape')`, escapedBytes(text))})
  from delivery_attempts a where a.lane = d.lane and a.delivery_id = d.id)`;

/** The bytes of a text as PostgreSQL's `escape` spells them. */
function escapedBytes(text: string): string {
  const bytes = Buffer.from(text.replaceAll('\\', '\\\\'));
  return bytes
    .toString('latin1')
    .replaceAll(/[^\x01-\x7f]/g, (byte) => `\\${byte.charCodeAt(0).toString(8).padStart(3, '0')}`);
}

/** Whether one of these holds; each may be null, which means no. */
export const anyOf = (conditions: readonly Sql[]): Sql => sql`(${join([...conditions], ' or ')})`;

/** The conditions of a range of instants on `created_at`; both ends belong to it. */
export function isReportedIn({
  from,
  to,
}: {
  from?: string | undefined;
  to?: string | undefined;
}): Sql[] {
  const conditions: Sql[] = [];
  if (from !== undefined) conditions.push(sql`created_at >= ${from}::timestamptz`);
  if (to !== undefined) conditions.push(sql`created_at <= ${to}::timestamptz`);
  return conditions;
}
