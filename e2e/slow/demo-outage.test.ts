import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { playOutage } from '../../packages/server/demo/outage.mjs';
import { createInstallation, useInstallation, useService } from '../lib/installation.ts';
import { waitFor } from '../lib/wait-for.ts';

const service = useService(useInstallation(), { SVC_ALLOW_TARGETS: '127.0.0.0/8' });

test('the outage of the demo is played to its end, and judges what it measured', async () => {
  const said: string[] = [];
  const say = (text: string) => void said.push(text);
  await playOutage(service, new AbortController().signal, { missed: 300, liveSeconds: 1, say });
  expect(said).toEqual([
    expect.stringMatching(/^300 incidents of AZ reported in .* 410\. \d+\+? wait\.$/),
    expect.stringMatching(/^Its story: .*410/),
    expect.stringMatching(/^The notice came /),
    expect.stringMatching(/^The receiver is back\. Live deliveries alone: p50 /),
    expect.stringMatching(/^Replaying 300 at 200\/s: svcctl jobs wait rpl_/),
    expect.stringMatching(/^Live deliveries beside it: p50 /),
    expect.stringMatching(/^300 delivered in .*: 300 different ones came, 0 twice\.$/),
    expect.stringMatching(/ beside the replay (kept|did not keep) within 50 ms\.$/),
  ]);
});

test('a demo makes export files, and leaves no service behind when it is killed', async () => {
  const installation = await createInstallation('nothing');
  try {
    const announced = join(installation.dataDir, 'service.json');
    const demo = installation.spawnCommand(['demo', '--limit', '1000']);
    await waitFor('the demo', () => demo.output().includes('To remove all of it: rm -r'));
    // A job hashes its file in a thread of the service.
    const out = join(installation.dataDir, 'tx.csv');
    const words = ['analytics', 'export', '--tenant', 'TX', '--month', '2001-03', '--async'];
    expect(await installation.run([...words, '--out', out])).toMatchObject({ code: 0 });
    await demo.kill();
    await waitFor('its end', async () => {
      const left = await installation.listPostgresProcesses();
      return left.length === 0 && !existsSync(announced);
    });
  } finally {
    await installation.remove();
  }
});
