import { test } from 'vitest';
import { ends, run } from '../testing/run.ts';

test('database distribute says what it takes where there is no cluster', async () => {
  await ends(run(['database', 'distribute', '--dry-run']), 1, [
    '(database_unusable)',
    'Set DATABASE_URL to the coordinator of a Citus cluster',
  ]);
});
