import { readElements, readMembers } from '../json-source.ts';
import { encodeRecord } from '../search.ts';

/** A record as a line of the table: everything but the enrichment. */
export type RecordLine = {
  /** Its identity as one string. */
  key: string;
  tenant: string;
  store: string;
  event_id: string;
  occurred_at: string;
  kind: string | null;
  source: string | null;
  model: string | null;
  /** As it was sent: 0.10 is not 0.1. */
  confidence: string | null;
  bytes: number;
};

export type RecordsPage = {
  lines: RecordLine[];
  next_cursor: string | null;
  prev_cursor: string | null;
};

/** A page of records from the text of the answer. Enrichments are stepped over, not parsed. */
export function readRecordsPage(text: string): RecordsPage {
  const members = readMembers(text);
  return {
    lines: readElements(members.get('data') ?? '[]').map(readLine),
    next_cursor: value<string | null>(members, 'next_cursor', null),
    prev_cursor: value<string | null>(members, 'prev_cursor', null),
  };
}

function readLine(source: string): RecordLine {
  const members = readMembers(source);
  const confidence = members.get('confidence') ?? 'null';
  const identity = {
    tenant: value(members, 'tenant', ''),
    store: value(members, 'store', ''),
    occurred_at: value(members, 'occurred_at', ''),
    event_id: value(members, 'event_id', ''),
  };
  return {
    ...identity,
    key: encodeRecord(identity),
    kind: value<string | null>(members, 'kind', null),
    source: value<string | null>(members, 'source', null),
    model: value<string | null>(members, 'model', null),
    confidence: confidence === 'null' ? null : confidence,
    bytes: value(members, 'bytes', 0),
  };
}

function value<T extends string | number | null>(
  members: ReadonlyMap<string, string>,
  name: string,
  absent: T,
): T {
  const source = members.get(name);
  return source === undefined ? absent : (JSON.parse(source) as T);
}
