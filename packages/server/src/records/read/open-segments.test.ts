import { expect, test } from 'vitest';
import { ObjectDamaged, ObjectMissing, type ObjectReader } from '../../platform/objects/objects.ts';
import { openSegment } from './open-segments.ts';

const segment = {
  tenant: 'TX',
  first_day: '2001-03-01',
  last_day: '2001-03-02',
  object_key: 'records/a',
  size_bytes: 1,
  sha256: Buffer.alloc(32),
};

/** A store that answers like this. */
function openIn(error: Error): Promise<unknown> {
  const objects: ObjectReader = {
    location: 's3://other',
    isRemote: true,
    open: () => Promise.reject(error),
    close: async () => {},
  };
  return openSegment(objects, segment, {});
}

test('a missing object is told with the store that was asked, which may be the wrong one', async () => {
  await expect(openIn(new ObjectMissing('records/a'))).rejects.toMatchObject({
    code: 'segment_damaged',
    detail: expect.stringMatching(
      /records\/a is missing\. It was looked for in s3:\/\/other: see first, .*SVC_BLOB_URL .*Restore it from a backup/,
    ),
  });
});

test('a damaged object is in the right store, which is named', async () => {
  await expect(openIn(new ObjectDamaged('records/a', 'is shorter'))).rejects.toMatchObject({
    detail: expect.stringMatching(/is not what was written \(in s3:\/\/other\)\. Restore it/),
  });
});
