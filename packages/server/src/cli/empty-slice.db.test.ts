import { beforeAll, expect, test } from 'vitest';
import { ends } from './testing/run.ts';
import { useServiceCli } from './testing/service-cli.ts';

const { service, cli, store } = useServiceCli();
beforeAll(() =>
  store(
    [1, 2, 3].map((day) => ({
      tenant: 'TX',
      store: 'DFW',
      kind: 'flight',
      enrichment: {},
      event_id: `e${day}`,
      occurred_at: `2001-03-0${day}T00:00:00Z`,
    })),
  ),
);

test.each([
  ['--tenant NOSUCH --month 2001-03', 'There is no tenant NOSUCH within reach of this token'],
  ['--tenant TX --store NOSUCH --month 2001-03', 'TX has no store NOSUCH'],
  [
    '--tenant TX --from 2002-01-01 --to 2002-01-31',
    'TX has 3 records from 2001-03-01 to 2001-03-03, none of them from 2002-01-01 to 2002-01-31.',
  ],
  [
    '--tenant TX --store DFW --month 2001-03 --kind train',
    'The store DFW of TX has 3 records from 2001-03-01 to 2001-03-03, none of them in 2001-03 and of the kind train.',
  ],
  ['--tenant TX --month 2001-03 --dataset training', 'tagged as training.'],
])('an empty slice says why on stderr and ends 0: %s', async (words, reason) => {
  for (const command of [
    'analytics export --format ndjson --out -',
    'analytics export --format ndjson --out - --async',
    'records show --ndjson',
  ]) {
    const { code, stdout, stderr } = await cli(`${command} ${words}`);
    expect([command, code, stdout]).toEqual([command, 0, '']);
    expect(stderr).toContain('note: no record matches.');
    expect(stderr).toContain(reason);
  }
  const later = await cli(`analytics export ${words} --async --no-wait`);
  // By kind it is counted when the work on it begins.
  if (!words.includes('--kind')) expect(later.stderr).toContain(reason);
});

test('a tenant out of reach is told in the words of one that does not exist', async () => {
  const { token } = await service.makeToken({ preset: 'support-readonly', tenants: ['CA'] });
  await ends(cli('analytics export --tenant TX --month 2001-03', { token }), 0, [
    'There is no tenant TX within reach of this token',
  ]);
});

test('a token that may export alone is told that the slice is empty', async () => {
  const { token } = await service.makeToken({ scopes: ['analytics:read'] });
  const { code, stdout, stderr } = await cli('analytics export --tenant NO --month 2001-03', {
    token,
  });
  expect([code, stdout.split('\n')]).toEqual([0, [expect.stringContaining('tenant,store'), '']]);
  expect(stderr).toBe('note: no record matches.\n');
});

test('a slice with records says nothing', async () => {
  const { stderr } = await cli('analytics export --tenant TX --month 2001-03');
  expect(stderr).toBe('');
});
