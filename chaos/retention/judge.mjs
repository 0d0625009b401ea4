import { createHash } from 'node:crypto';
import { formatDigest, sumDigests } from '../../packages/server/dist/kernel/digest.js';
import { eachRecord } from '../lib/records.mjs';
import { until } from '../lib/wait.mjs';
import { digestOf } from './load.mjs';

/** What has become of everything, once all is cold; `foreign`: objects that clones wrote. */
export async function judge(world, load, foreign) {
  const details = [];
  const found = {
    acknowledged: load.expected.size,
    refused: load.sum.refused,
    duplicatesSent: load.sum.duplicates,
    conflictsSent: load.sum.conflicts,
    runs: load.sum.runs,
    ...(await countMoves(world)),
    wrongLeaves: 0,
    wrongPages: 0,
    wrongExports: 0,
    problems: 0,
  };
  for (const tenant of load.tenants) {
    const records = [...load.expected.values()].filter((record) => record.tenant === tenant);
    const expected = {
      count: records.length,
      digest: formatDigest(sumDigests(records.map(digestOf))),
    };
    const leaf = await read(world, `/enrichment/datasets?level=tenant&tenant=${tenant}`);
    const counted = { count: leaf.data[0]?.count, digest: leaf.data[0]?.digest };
    if (!isEqual(counted, expected)) {
      found.wrongLeaves += 1;
      details.push(`${tenant}: leaf ${JSON.stringify(counted)}, sent ${JSON.stringify(expected)}`);
    }
    const walked = await walk(world, tenant);
    if (!isEqual(walked, expected)) {
      found.wrongPages += 1;
      details.push(`${tenant}: pages ${JSON.stringify(walked)}, sent ${JSON.stringify(expected)}`);
    }
    const exported = await exportRows(world, tenant);
    if (exported !== expected.count) {
      found.wrongExports += 1;
      details.push(`${tenant}: exported ${exported} of ${expected.count}`);
    }
  }
  const report = await verify(world);
  // Those that a clone wrote while it had the store are nobody's, and are named as such.
  const problems = report.problems.filter(
    ({ kind, object_key: key }) => kind !== 'object_orphan' || !foreign.has(key),
  );
  const orphansOfCopies = report.problems.length - problems.length;
  found.problems = report.problem_count - orphansOfCopies;
  for (const problem of problems.slice(0, 5)) details.push(JSON.stringify(problem));
  return { ...found, orphansOfCopies, verified: report.records_done, details };
}

async function countMoves(world) {
  const rows = await world.database.rows(
    'select kind, state, count(*)::int as count from moves group by 1, 2',
  );
  const of = (filter) => rows.filter(filter).reduce((sum, row) => sum + row.count, 0);
  return {
    moves: of((row) => row.kind === 'move' && row.state === 'removed'),
    compactions: of((row) => row.kind === 'compact' && row.state === 'removed'),
    failedMoves: of((row) => row.state === 'failed'),
    openMoves: of((row) => !['removed', 'failed'].includes(row.state)),
  };
}

function isEqual(one, other) {
  return one.count === other.count && one.digest === other.digest;
}

async function read(world, path) {
  const { status, json } = await world.call('GET', path);
  if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(json)}`);
  return json;
}

/** All pages of a tenant, each record once. */
async function walk(world, tenant) {
  const seen = new Set();
  const digests = [];
  for await (const record of eachRecord(world, tenant)) {
    digests.push(digestOf(record));
    seen.add(record.event_id);
  }
  const count = seen.size === digests.length ? seen.size : -digests.length;
  return { count, digest: formatDigest(sumDigests(digests)) };
}

/** Rows of the tenant's CSV: no cell of it holds a line end. Checks the digest of the bytes. */
async function exportRows(world, tenant) {
  const { request } = await import('node:http');
  return new Promise((resolve, reject) => {
    const sent = request(`${world.service.url}/api/v1/exports/csv`, {
      method: 'POST',
      headers: { authorization: `Bearer ${world.token}`, 'content-type': 'application/json' },
    });
    sent.on('error', reject);
    sent.on('response', (response) => {
      const hash = createHash('sha256');
      let lines = -1;
      response.on('error', reject);
      response.on('data', (chunk) => {
        hash.update(chunk);
        for (const byte of chunk) if (byte === 10) lines += 1;
      });
      response.on('end', () => {
        const isWhole = response.trailers['repr-digest'] === `sha-256=:${hash.digest('base64')}:`;
        resolve(isWhole && response.statusCode === 200 ? lines : -1);
      });
    });
    sent.end(JSON.stringify({ tenant }));
  });
}

async function verify(world) {
  const { json } = await world.call('POST', '/retention/verify', {});
  return until(
    'the verification',
    async () => {
      const report = (await world.call('GET', `/retention/verify/${json.id}`)).json;
      return report.state === 'completed' ? report : null;
    },
    180_000,
  );
}
