import { beforeEach, expect, test } from 'vitest';
import { readProfiles, writeProfiles } from '../connection.ts';
import { ends, run, useFolder } from '../testing/run.ts';

const folder = useFolder();
const [a, b] = ['https://a.example.org', 'https://b.example.org/svc'];
const env = () => ({ HOME: folder.path });
const cli = (line: string, more: Record<string, string> = {}) =>
  run(line.split(' '), { cwd: folder.path, env: more });

beforeEach(async () => {
  const profiles = { one: { url: a, token: 'svc_a' }, two: { url: b, token: 'svc_b' } };
  await writeProfiles(env(), { default: 'one', profiles });
});

test('profile ls lists the services, and never a token', async () => {
  await ends(cli('profile ls'), 0, `one\tyes\t${a}\ntwo\t\t${b}\n`);
  const { stdout } = await cli('profile ls --json');
  expect(JSON.parse(stdout)).toEqual([
    { name: 'one', url: a, is_default: true },
    { name: 'two', url: b, is_default: false },
  ]);
});

test('profile use has commands go elsewhere, and profile show says why they do', async () => {
  await ends(cli('profile use two'), 0, '', [`Commands go to ${b} now`]);
  const shown = async (line: string, more = {}) => JSON.parse((await cli(line, more)).stdout);
  expect(await shown('profile show')).toMatchObject({ url: b, place: 'the profile two' });
  expect(await shown('profile show one --json url')).toEqual({ url: a });
  const given = { SVC_URL: a, SVC_TOKEN: 'svc_x' };
  expect(await shown('profile show', given)).toMatchObject({
    source: 'environment',
    profile: null,
  });
});

test('profile rm forgets a profile with its token', async () => {
  await ends(cli('profile rm one'), 0, '', ['Forgot the profile one.']);
  expect(await readProfiles(env())).toEqual({
    default: 'two',
    profiles: { two: { url: b, token: 'svc_b' } },
  });
});

test('a profile that does not exist is told with those that do', async () => {
  for (const verb of ['use', 'show', 'rm']) {
    await ends(cli(`profile ${verb} three`), 2, ['no profile "three"', 'There are: one, two.']);
  }
  expect(await readProfiles(env())).toMatchObject({ default: 'one' });
});
