import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createGate, type Gate } from '../src/kernel/gate.ts';
import {
  type Answer,
  forward,
  refusal,
  type S3Backend,
  type S3Behaviour,
  type S3ServerProcess,
  type Target,
} from './s3-backend.ts';

const bucket = 'cold';
const key = 'S3RVER';
const removal = { recursive: true, force: true };

/**
 * s3rver on a free port. It reads requests as S3 does: paths, headers, XML, pages of a list, multipart uploads. What it
 * leaves out is added here: bodies are compared with Content-MD5 and with the SHA-256 that the signature covers, an
 * object is shown only when it is whole, uploads are listed, three a page, the parts of an aborted one are removed, and
 * If-Match and If-None-Match of a PUT are kept. Nobody checks signatures (s3rver reckons those of lists wrongly) or
 * permissions, nor knows redirects to other regions, virtual-hosted buckets or TLS.
 */
export async function startMock(): Promise<S3Backend> {
  const directory = await mkdtemp(join(tmpdir(), 'svcctl-s3-'));
  const server = await startS3rver(directory);
  const mock: Mock = {
    target: { hostname: '127.0.0.1', port: server.port },
    directory,
    oneAtATime: createGate(1),
    aborted: new Set(),
    uploads: new Map(),
  };
  return {
    answer: (incoming, body, behaviour) => answerMock(incoming, body, { mock, behaviour }),
    environment: {
      AWS_ACCESS_KEY_ID: key,
      AWS_SECRET_ACCESS_KEY: key,
      AWS_EC2_METADATA_DISABLED: 'true',
    },
    urlOf: (prefix, endpoint, name = bucket) =>
      `s3://${name}/${encodeURI(prefix)}?endpoint=${encodeURIComponent(endpoint)}&region=us-east-1`,
    async seed(prefix, keys, content) {
      const md5 = digestOf('md5', Buffer.from(content)).toString('hex');
      for (const name of keys) {
        const path = join(directory, bucket, prefix, `${name}._S3rver_object`);
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, content);
        writeFileSync(`${path}.md5`, md5);
      }
    },
    async beginUpload(prefix, name, startedAt = new Date()) {
      const path = `/${bucket}/${prefix}/${name}`.split('/').map(encodeURIComponent).join('/');
      const answer = await fetch(`http://127.0.0.1:${server.port}${path}?uploads`, {
        method: 'POST',
        headers: { authorization: `AWS ${key}:any`, date: new Date().toUTCString() },
      });
      const text = await answer.text();
      const [, id] = /<UploadId>(.+)<\/UploadId>/.exec(text) ?? [];
      if (id === undefined) throw new Error(text);
      mock.uploads.set(id, { key: `${prefix}/${name}`, startedAt });
    },
    server,
    openUploads: () => readdir(uploadsOf(directory)).catch(() => []),
    async close() {
      await server.close();
      await rm(directory, removal);
    },
  };
}

const program = `
const S3rver = require('@20minutes/s3rver');
const options = JSON.parse(process.argv[1]);
new S3rver(options).run().then(({ port }) => process.send({ port }));
process.on('disconnect', () => process.exit());
`;

type S3rver = S3ServerProcess & { readonly port: number; close(): Promise<void> };

/** A process of its own: the continuation tokens of its lists are DES, which Node has only when told so. */
async function startS3rver(directory: string, onPort = 0): Promise<S3rver> {
  const options = {
    address: '127.0.0.1',
    port: onPort,
    silent: true,
    directory,
    allowMismatchedSignatures: true,
    configureBuckets: [{ name: bucket }],
  };
  const args = ['--openssl-legacy-provider', '-e', program, JSON.stringify(options)];
  const child = spawn(process.execPath, args, {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const port = await new Promise<number>((resolve, reject) => {
    child.once('message', (message) => resolve((message as { port: number }).port));
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`s3rver ended with ${code}`)));
  });
  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  let again: S3rver | undefined;
  return {
    port,
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    kill: () => again?.kill() ?? kill(),
    async restart() {
      again = await startS3rver(directory, port);
    },
    close: () => again?.close() ?? kill(),
  };
}

function uploadsOf(directory: string): string {
  return join(directory, bucket, '._S3rver_uploads');
}

type Mock = {
  readonly target: Target;
  readonly directory: string;
  /** s3rver writes an object in place: without it others would see half of it. */
  readonly oneAtATime: Gate;
  /** Ids of uploads: s3rver would take more parts of them. */
  readonly aborted: Set<string>;
  /** By id. */
  readonly uploads: Map<string, Upload>;
};

type Upload = { readonly key: string; readonly startedAt: Date };

const uploadsPerPage = 3;
const lookMillis = 300;

async function answerMock(
  incoming: IncomingMessage,
  body: Buffer,
  { mock, behaviour }: { mock: Mock; behaviour: S3Behaviour },
): Promise<Answer> {
  const { directory, oneAtATime, aborted, uploads, target } = mock;
  if (!fitsItsDigests(incoming, body)) return refusal({ status: 400, code: 'BadDigest' });
  const asked = new URL(incoming.url ?? '', 'http://gate');
  const uploadId = asked.searchParams.get('uploadId');
  const isOfUploads = asked.searchParams.has('uploads');
  if (incoming.method === 'GET' && isOfUploads) {
    const page = Buffer.from(uploadsPage(uploads, asked.searchParams));
    return { status: 200, headers: { 'content-type': 'application/xml' }, body: page };
  }
  if (incoming.method === 'DELETE' && uploadId !== null) {
    aborted.add(uploadId);
    uploads.delete(uploadId);
    await oneAtATime.run(() => rm(join(uploadsOf(directory), uploadId), removal));
    return { status: 204, headers: {}, body: Buffer.alloc(0) };
  }
  if (uploadId !== null && aborted.has(uploadId))
    return refusal({ status: 404, code: 'NoSuchUpload' });
  const kept = behaviour === 'lose_half' ? body.subarray(0, body.length / 2) : body;
  if (behaviour === 'look_then_write') {
    if (!(await keepsConditions(incoming, directory)))
      return refusal({ status: 412, code: 'PreconditionFailed' });
    // Whoever comes meanwhile looks, too, before this one writes.
    await new Promise((resolve) => setTimeout(resolve, lookMillis));
  }
  const answer = await oneAtATime.run(async () => {
    const isFree =
      behaviour === 'unconditional' ||
      behaviour === 'look_then_write' ||
      (await keepsConditions(incoming, directory));
    return isFree
      ? forward(incoming, kept, target)
      : refusal({ status: 412, code: 'PreconditionFailed' });
  });
  if (incoming.method === 'POST' && answer.status === 200) {
    if (uploadId !== null) uploads.delete(uploadId);
    const [, id] = /<UploadId>([^<]+)</.exec(answer.body.toString()) ?? [];
    const [, , ...path] = asked.pathname.split('/');
    const name = decodeURIComponent(path.join('/'));
    if (isOfUploads && id !== undefined) uploads.set(id, { key: name, startedAt: new Date() });
  }
  if (isList(incoming)) {
    delete answer.headers['content-length'];
    answer.body = Buffer.from(answer.body.toString().replaceAll('&amp;', '&'));
  }
  return answer;
}

/** If-Match and If-None-Match of a PUT, against what s3rver has on its disk. */
async function keepsConditions(
  { method, url = '', headers }: IncomingMessage,
  directory: string,
): Promise<boolean> {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = headers;
  if (method !== 'PUT' || (ifMatch === undefined && ifNoneMatch === undefined)) return true;
  const path = decodeURIComponent(new URL(url, 'http://gate').pathname);
  const md5 = await readFile(join(directory, `${path}._S3rver_object.md5`), 'utf8').catch(
    () => null,
  );
  return ifNoneMatch === undefined ? `"${md5}"` === ifMatch : md5 === null;
}

/** ListMultipartUploads: by key, then in the order in which they began. */
function uploadsPage(uploads: ReadonlyMap<string, Upload>, asked: URLSearchParams): string {
  const after = { key: asked.get('key-marker') ?? '', id: asked.get('upload-id-marker') ?? '' };
  const sorted = [...uploads]
    .map(([id, upload]) => ({ id, ...upload }))
    .filter(({ key: name }) => name.startsWith(asked.get('prefix') ?? ''))
    .sort((a, b) => (`${a.key}\n${a.id}` < `${b.key}\n${b.id}` ? -1 : 1))
    .filter(
      ({ key: name, id }) => `${name}\n${id}` > `${after.key}\n${after.id}` || after.key === '',
    );
  const page = sorted.slice(0, uploadsPerPage);
  const last = page.at(-1);
  const escaped = (text: string) =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const rows = page.map(
    ({ id, key: name, startedAt }) =>
      `<Upload><Key>${escaped(name)}</Key><UploadId>${id}</UploadId><Initiated>${startedAt.toISOString()}</Initiated></Upload>`,
  );
  const next =
    last === undefined
      ? ''
      : `<NextKeyMarker>${escaped(last.key)}</NextKeyMarker><NextUploadIdMarker>${last.id}</NextUploadIdMarker>`;
  return `<?xml version="1.0"?><ListMultipartUploadsResult><Bucket>${bucket}</Bucket>${next}<IsTruncated>${sorted.length > page.length}</IsTruncated>${rows.join('')}</ListMultipartUploadsResult>`;
}

/** s3rver escapes the keys in a list twice. */
function isList({ method, url = '' }: IncomingMessage): boolean {
  return method === 'GET' && url.includes('list-type=2');
}

function fitsItsDigests({ headers }: IncomingMessage, body: Buffer): boolean {
  const md5 = headers['content-md5'];
  if (md5 !== undefined && md5 !== digestOf('md5', body).toString('base64')) return false;
  const sha256 = headers['x-amz-content-sha256'];
  const isDigest = typeof sha256 === 'string' && /^[0-9a-f]{64}$/.test(sha256);
  return !isDigest || sha256 === digestOf('sha256', body).toString('hex');
}

function digestOf(algorithm: string, body: Buffer): Buffer {
  return createHash(algorithm).update(body).digest();
}
