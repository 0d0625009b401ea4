import { recordDigest } from '../packages/server/dist/kernel/digest.js';
import { microsOf } from './values.mjs';

const enrichments =
  /"enrichment":(\{"marker":"mk\w+","n":9007199254740993,"x":1\.50(?:e\+3)?(?:,"pad":"[^"]*")?\})/g;

/**
 * The records of a page, with the digest of what it says to the letter: key and digest of each, in order. A record whose
 * enrichment is not spelled as it was sent has no digest that anybody knows.
 */
export function rowsOfPage(text) {
  const { data } = JSON.parse(text);
  const spelled = [];
  let from = 0;
  for (const match of text.matchAll(enrichments)) {
    spelled.push({ enrichment: match[1], before: text.slice(from, match.index) });
    from = match.index + match[0].length;
  }
  return data.map((record, at) =>
    rowOf(record, spelled.length === data.length ? spelled[at] : undefined),
  );
}

/** The record of a line of NDJSON, as `rowsOfPage` tells it. */
export function rowOfLine(line) {
  const [match] = line.matchAll(enrichments);
  return rowOf(
    JSON.parse(line),
    match && { enrichment: match[1], before: line.slice(0, match.index) },
  );
}

/** Those of a whole file, one after the other: of a large one there are never more than one at a time. */
export function* rowsOfLines(bytes) {
  for (const line of linesOf(bytes)) yield rowOfLine(line);
}

/** The lines of a text that each end in a line feed. */
export function* linesOf(bytes) {
  let from = 0;
  for (let to = bytes.indexOf(10); to >= 0; to = bytes.indexOf(10, from)) {
    yield bytes.toString('utf8', from, to);
    from = to + 1;
  }
}

/** @param {any} record @param {{ enrichment: string, before: string } | undefined} spelled */
function rowOf(record, spelled) {
  const { tenant: own, store: ownStore, event_id: eventId, occurred_at: occurredAt } = record;
  const { kind = null, source = null, model = null } = record;
  const [, confidence = 'null'] = /"confidence":([0-9.]+)/.exec(spelled?.before ?? '') ?? [];
  return {
    key: JSON.stringify([own, ownStore, occurredAt, eventId]),
    digest: recordDigest({
      ...{ tenant: own, store: ownStore, occurredAtMicros: microsOf(occurredAt), eventId },
      ...{ kind, source, model },
      confidence: confidence === 'null' ? null : confidence,
      enrichment: spelled?.enrichment ?? '',
    }),
  };
}

/** By tenant, store, time, event, each by its UTF-8 bytes. */
export function compareKeys(one, other) {
  const [left, right] = [JSON.parse(one), JSON.parse(other)];
  for (let at = 0; at < left.length; at += 1) {
    const order = Buffer.compare(Buffer.from(left[at]), Buffer.from(right[at]));
    if (order !== 0) return order;
  }
  return 0;
}
