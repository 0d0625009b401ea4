import { expect, test } from 'vitest';
import { useInstallation } from '../lib/installation.ts';
import { waitFor } from '../lib/wait-for.ts';

const installation = useInstallation();

/** Three beats go missing before a process counts as silent. */
const silenceMillis = 90_000;

test('a frozen process is told from one that was killed, and is live again when it goes on', async () => {
  const service = await installation.start({ SVC_ROLES: 'api,retention,exports,drainer' });
  const frozen = await installation.start({ SVC_ROLES: 'drainer' });
  const killed = await installation.start({ SVC_ROLES: 'exports' });
  const env = { SVC_URL: service.url, SVC_TOKEN: service.token };
  const found = async (): Promise<{ severity: string; found: string }[]> => {
    const { json } = await service.call('GET', '/status');
    return json.findings.filter(({ check }: { check: string }) => check === 'processes');
  };
  expect(await found()).toEqual([]);
  const well = await installation.run(['doctor', '--all'], env);
  expect(well).toMatchObject({ code: 0, output: expect.stringContaining('0 problems') });

  process.kill(frozen.pid, 'SIGSTOP');
  await killed.kill();
  const told = await waitFor(
    'both to be told',
    async () => {
      const all = await found();
      return all.length === 2 && all.map((each) => `${each.severity} ${each.found}`).toSorted();
    },
    silenceMillis,
  );
  expect(told[0]).toMatch(new RegExp(`^problem .*:${frozen.pid} \\(drainer\\).* frozen`));
  expect(told[1]).toMatch(new RegExp(`^warning .*:${killed.pid} \\(exports\\).* was killed`));
  expect((await installation.run(['doctor'], env)).code).toBe(1);
  const listed = await installation.run(['ps'], env);
  expect(listed.output).toMatch(new RegExp(`\\t${frozen.pid}\\tdrainer\\tsilent\\t`));

  process.kill(frozen.pid, 'SIGCONT');
  await waitFor('it to say that it lives', async () => (await found()).length === 1);
  await frozen.stop();
  // What stops by itself is not missed.
  expect((await installation.run(['ps'], env)).output).not.toContain(`\t${frozen.pid}\t`);
  await service.stop();
  const gone = await installation.run(['doctor', '--local'], {
    SVC_DATA_DIR: installation.dataDir,
  });
  expect(gone).toMatchObject({
    code: 0,
    output: expect.stringContaining('is not started for a look'),
  });
});
