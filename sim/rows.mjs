import { recordDigest } from '../packages/server/dist/kernel/digest.js';
import { microsOf } from './values.mjs';

const enrichments =
  /"enrichment":(\{"marker":"mk\w+","n":9007199254740993,"x":1\.50(?:e\+3)?(?:,"pad":"[^"]*")?\})/g;

/**
 * The records in a text of JSON or NDJSON, with the digest of what it says to the letter: key and digest of each, in
 * order. A record whose enrichment is not spelled as it was sent has no digest that anybody knows.
 */
export function rowsOf(text) {
  const lines = text.startsWith('{"data"')
    ? JSON.parse(text).data
    : text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line));
  const spelled = [];
  let from = 0;
  for (const match of text.matchAll(enrichments)) {
    const [, confidence = 'null'] =
      /"confidence":([0-9.]+)/.exec(text.slice(from, match.index)) ?? [];
    spelled.push({ enrichment: match[1], confidence: confidence === 'null' ? null : confidence });
    from = match.index + match[0].length;
  }
  return lines.map(
    (
      {
        tenant: own,
        store: ownStore,
        event_id: eventId,
        occurred_at: occurredAt,
        kind,
        source,
        model,
      },
      at,
    ) => ({
      key: JSON.stringify([own, ownStore, occurredAt, eventId]),
      digest: recordDigest({
        ...{ tenant: own, store: ownStore, occurredAtMicros: microsOf(occurredAt), eventId },
        ...{ kind: kind ?? null, source: source ?? null, model: model ?? null },
        ...(spelled.length === lines.length ? spelled[at] : { confidence: null, enrichment: '' }),
      })
        .toString(16)
        .padStart(16, '0'),
    }),
  );
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
