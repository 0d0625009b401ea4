import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '../../test/service.ts';
import { run } from './testing/run.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ SVC_ROLES: 'api' });
});
afterAll(() => service.stop());

/** Runs a command as the admin, or with another token. */
const svcctl = (words: string, token = service.adminToken) =>
  run(words.split(' '), {
    env: { SVC_URL: service.url, SVC_TOKEN: token, NO_COLOR: '1' },
    now: Date.now,
  });

async function jsonOf(words: string) {
  const { code, stdout, stderr } = await svcctl(words);
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}

test('a token is made for a colleague, who uses it, found in the log, and revoked', async () => {
  const made = await jsonOf('tokens create --name Kim --preset support-readonly --json');
  const used = await svcctl('records ls', made.token);
  expect(used).toMatchObject({ code: 0 });
  const exported = await svcctl(
    'analytics export --tenant TX --month 2001-01 --format csv',
    made.token,
  );
  expect(exported.stdout).toContain('tenant,store,month');

  expect(await jsonOf(`audit ls --actor ${made.id} --json action,actor`)).toEqual([
    { action: 'export.csv', actor: { token_id: made.id, name: 'Kim' } },
  ]);
  expect(await svcctl(`tokens revoke ${made.id} --yes`)).toMatchObject({ code: 0 });
  expect(await svcctl('records ls', made.token)).toMatchObject({ code: 4 });
  const [revoked] = await jsonOf('audit ls --action token.revoke --json target');
  expect(revoked).toEqual({ target: made.id });
});

test('an entry that was changed past the service is named', async () => {
  expect((await svcctl('audit verify')).code).toBe(0);
  const [entry] = await service.db.query<{ id: string }>(sql`
    update audit_log set token_name = 'nobody' where action = 'token.revoke' returning id::text as id`);
  const { code, stdout, stderr } = await svcctl('audit verify');
  expect(code).not.toBe(0);
  expect(`${stdout}${stderr}`).toContain(`Entry ${entry?.id} is not what was written`);
});
