import { test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { testOnOneServer } from '../../../test/one-server.ts';
import { ends, run } from '../testing/run.ts';

const db = useTestDatabase();

test('database distribute says what it takes where there is no cluster', async () => {
  await ends(run(['database', 'distribute', '--dry-run']), 1, [
    '(database_unusable)',
    'Set DATABASE_URL to the coordinator of a Citus cluster',
  ]);
});

testOnOneServer('nor does it distribute the tables of a plain server', async () => {
  const env = { DATABASE_URL: db.url };
  await ends(run(['database', 'distribute', '--yes'], { env }), 1, ['has no extension citus']);
});
