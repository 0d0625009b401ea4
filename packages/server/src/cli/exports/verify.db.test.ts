import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { ends, run, useFolder } from '../testing/run.ts';
import { useServiceCli } from '../testing/service-cli.ts';

const folder = useFolder('once');
const { service, cli, ok, jsonOf, store } = useServiceCli({}, folder);
beforeAll(() =>
  store(
    Array.from({ length: 30 }, (_, n) => ({
      tenant: 'T',
      store: 'A',
      event_id: `e-${n}`,
      enrichment: { n },
      occurred_at: `2001-03-0${(n % 7) + 1}T00:00:00Z`,
    })),
  ),
);
const offline = (words: string) =>
  run(words.split(' '), { cwd: folder.path, env: { NO_COLOR: '1' } });

/** A job that has ended, with its file and its manifest in the folder, as `name` and `name.json`. */
async function download(name: string, options: string): Promise<string> {
  const slice = '--tenant T --month 2001-03';
  const made = await ok(`analytics export ${slice} --async --no-wait ${options}`);
  const id = made.stdout.trim();
  await ok(`exports get ${id} --wait --out ${name} --manifest ${name}.json`);
  return id;
}

describe('svcctl exports verify', () => {
  let csv: string;
  let parquet: string;
  beforeAll(async () => {
    csv = await download('t.csv.gz', '--format csv --compression gzip');
    parquet = await download('t.parquet', '--format parquet');
  });

  test('reads the file from the service, parses it, and tells the verdict on each part', async () => {
    const { sha256, digest, parts } = JSON.parse(
      await readFile(join(folder.path, 't.csv.gz.json'), 'utf8'),
    );
    const [part] = parts;
    const line = `1\tok\t30\t${digest}\t${part.bytes}\t${part.sha256}\n`;
    await ends(cli(`exports verify ${csv}`), 0, line, [
      /^✓ T_\S+\.csv\.gz: 1 part, 30 rows, .*: rows, digests and SHA-256 are those of the manifest · /,
    ]);
    const verdict = { ok: true, rows: 30, differences: [] };
    expect(await jsonOf(`exports verify ${parquet} --json ok,rows,differences`)).toEqual(verdict);
    const local = { ok: true, export_id: csv, sha256, digest };
    expect(await jsonOf(`exports verify ${csv} --file t.csv.gz --json`)).toMatchObject(local);
  });

  test('writes each reading down in the audit log once', async () => {
    const downloads = async () => {
      const { json } = await service.call('GET', '/audit?action=export.download');
      return json.data.filter(({ target }: { target: string }) => target === parquet).length;
    };
    const before = await downloads();
    await cli(`exports verify ${parquet}`);
    expect(await downloads()).toBe(before + 1);
  });

  test('needs no service for a file with its manifest', async () => {
    const words = 'exports verify --file t.parquet --manifest t.parquet.json';
    await ends(offline(words), 0, /^1\tok\t30\t/);
  });

  test('ends with 1 and names the part whose bytes were changed', async () => {
    const bytes = await readFile(join(folder.path, 't.parquet'));
    bytes.writeUInt8(bytes.readUInt8(60) ^ 1, 60);
    await writeFile(join(folder.path, 'changed'), bytes);
    const words = 'exports verify --file changed --manifest t.parquet.json';
    await ends(offline(words), 1, /^1\tdiffers\t/, [
      /✗ sha256 {2}part 1 of 1: SHA-256 [0-9a-f]{64}, and not [0-9a-f]{64}/,
      'changed is not what its manifest says',
      '(verify_failed)',
    ]);
    const json = await ends(offline(`${words} --json ok,differences`), 1, /^{/);
    expect(JSON.parse(json.stdout)).toMatchObject({
      ok: false,
      differences: expect.arrayContaining([expect.objectContaining({ part: 1, kind: 'sha256' })]),
    });
  });

  test('ends with 1 and names the count that a manifest has wrong', async () => {
    const manifest = JSON.parse(await readFile(join(folder.path, 't.csv.gz.json'), 'utf8'));
    manifest.parts[0].rows = 31;
    await writeFile(join(folder.path, 'wrong.json'), JSON.stringify(manifest));
    await ends(
      offline('exports verify --file t.csv.gz --manifest wrong.json'),
      1,
      /^1\tdiffers\t/,
      ['✗ rows  part 1 of 1: rows 30, and not 31 as in the manifest'],
    );
  });

  test('ends with 1 and names a part that the service has lost', async () => {
    const id = await download('lost.csv', '--format csv');
    const parts = join(service.dataDir, 'cold', 'exports', 'tenant=T', id);
    for (const name of await readdir(parts)) {
      if (name.startsWith('1.')) await rm(join(parts, name));
    }
    await ends(cli(`exports verify ${id}`), 1, '1\tdiffers\t\t\t0\t\n', [
      '✗ lost  part 1 of 1: A part of the file',
    ]);
    // What was downloaded before is whole, and the manifest is still there.
    expect((await cli(`exports verify ${id} --file lost.csv`)).code).toBe(0);
  });

  test.each([
    ['exports verify', 2, 'give the id of an export job, or both'],
    ['exports verify --file t.parquet', 2, 'give the id of an export job, or both'],
    ['exports verify exp_none', 3, 'export_not_found'],
    ['exports verify --file none --manifest t.parquet.json', 1, 'none cannot be read'],
    ['exports verify --file t.parquet --manifest none', 1, 'none cannot be read'],
    ['exports verify --file t.parquet --manifest t.parquet', 1, 'is not the manifest of an export'],
    ['exports verify exp_none --json size', 2, 'there is no field'],
  ])('%s ends with %d', async (words, exit, message) => {
    await ends(cli(words), exit, [message]);
  });

  test('tells other tenants’ tokens nothing, and needs the scope of exports', async () => {
    const foreign = await service.makeToken({ preset: 'support-readonly', tenants: ['L'] });
    expect(await cli(`exports verify ${csv}`, { token: foreign.token })).toMatchObject({ code: 3 });
    const pipeline = await service.makeToken({ preset: 'pipeline' });
    expect(await cli(`exports verify ${csv}`, { token: pipeline.token })).toMatchObject({
      code: 4,
    });
  });
});
