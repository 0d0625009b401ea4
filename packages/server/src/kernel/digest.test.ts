import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type DigestContent, formatDigest, recordDigest, sumDigests } from './digest.ts';

const content: DigestContent = {
  tenant: 'TX',
  store: 'DFW',
  occurredAtMicros: 983_404_800_000_000,
  eventId: 'fl-1',
  kind: null,
  source: '',
  model: null,
  confidence: '0.10',
  enrichment: '{"a":1}',
};

test('covers every field of the content', () => {
  const digest = recordDigest(content);
  const changes: Partial<DigestContent>[] = [
    { tenant: 'CA' },
    { store: 'LAX' },
    { occurredAtMicros: 983_404_800_000_001 },
    { eventId: 'fl-2' },
    { kind: '' },
    { source: null },
    { model: 'm' },
    { confidence: '0.1' },
    { enrichment: '{"a":1.0}' },
  ];
  for (const change of changes) expect(recordDigest({ ...content, ...change })).not.toBe(digest);
});

test('the sum of a set does not depend on its order and stays below 2^64', () => {
  fc.assert(
    fc.property(fc.array(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })), (digests) => {
      const sum = sumDigests(digests);
      expect(sumDigests([...digests].reverse())).toBe(sum);
      expect(sum).toBeLessThan(2n ** 64n);
    }),
  );
});

test('is written as 16 hex digits', () => {
  expect(formatDigest(10n)).toBe('000000000000000a');
  expect(formatDigest(2n ** 64n - 1n)).toBe('ffffffffffffffff');
});
