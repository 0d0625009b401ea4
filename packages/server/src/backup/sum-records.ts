import { signedDigest } from '../kernel/digest.ts';
import { parseInstant } from '../kernel/instant.ts';
import type { Triple } from '../records/segments.ts';

/**
 * Sums records up as COPY has written them, a line each. Digests are computed from the content of the rows, and not taken
 * from their column.
 */
export function createRecordSums(columns: readonly string[]): {
  add(line: string): void;
  triple(): Triple;
} {
  const at = (name: string) => {
    const index = columns.indexOf(name);
    if (index < 0) throw new Error(`records have no column ${name}`);
    return index;
  };
  const [tenant, store, occurredAt, eventId] = [
    at('tenant'),
    at('store'),
    at('occurred_at'),
    at('event_id'),
  ];
  const [kind, source, model, confidence] = [
    at('kind'),
    at('source'),
    at('model'),
    at('confidence'),
  ];
  const [size, enrichment] = [at('bytes'), at('enrichment')];
  const scratch = Buffer.alloc(8);
  let [count, bytes, digest] = [0, 0, 0n];
  return {
    add(line) {
      const cells = line.split('\t');
      const text = (index: number) => unescaped(cells[index] ?? '');
      const orNull = (index: number) => (cells[index] === '\\N' ? null : text(index));
      count += 1;
      bytes += Number(cells[size]);
      digest += signedDigest(
        {
          tenant: text(tenant),
          store: text(store),
          occurredAtMicros: microsOf(cells[occurredAt] ?? ''),
          eventId: text(eventId),
          kind: orNull(kind),
          source: orNull(source),
          model: orNull(model),
          confidence: orNull(confidence),
          enrichment: text(enrichment),
        },
        scratch,
      );
    },
    triple: () => ({ count, bytes, digest: BigInt.asUintN(64, digest).toString() }),
  };
}

const escapes: Readonly<Record<string, string>> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/** Takes back what COPY does to a value: a backslash and a letter stand for a control character. */
function unescaped(cell: string): string {
  if (!cell.includes('\\')) return cell;
  return cell.replace(/\\(.)/gs, (_, sign: string) => escapes[sign] ?? sign);
}

/** Reads `2001-03-01 12:00:00.25+00`, which PostgreSQL writes in UTC. */
function microsOf(cell: string): number {
  const micros = parseInstant(cell.replace(' ', 'T').replace(/\+00$/, 'Z'));
  if (micros === null) throw new Error(`${JSON.stringify(cell)} is no time`);
  return micros;
}
