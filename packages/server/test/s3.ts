import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import {
  createServer,
  type IncomingMessage,
  request as openRequest,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import {
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { createGate, type Gate } from '../src/kernel/gate.ts';
import { type FoundS3, startRealS3 } from './real-s3.mjs';

/** What the gate before the server does with a request. */
export type S3Behaviour =
  | 'pass'
  /** 500 InternalError. */
  | 'fail'
  /** 503 SlowDown. */
  | 'slow_down'
  /** 403 AccessDenied. */
  | 'deny'
  /** Closes the connection before it answers. */
  | 'close'
  /** Takes the request and never answers. */
  | 'hang'
  /** Sends half of the answer's body and closes the connection. */
  | 'half_answer'
  /** Sends half of the answer's body and nothing more. */
  | 'stall_answer'
  /** Sends half of the answer's body, and the rest 4 s later. */
  | 'pause_answer'
  /** Turns one bit of the request's body on its way. */
  | 'flip_request'
  /** Keeps half of the request's body, and says that all is well. A real server does not. */
  | 'lose_half'
  /** Passes If-Match and If-None-Match over, as servers do that do not know them. A real one does not. */
  | 'unconditional'
  /** Looks whether a condition holds, and writes a while later, whatever was written meanwhile. */
  | 'look_then_write'
  /** Sends the whole object to whoever asks for a stretch of it. */
  | 'pass_range_over'
  /** Does what it is asked, and closes the connection instead of answering. */
  | 'lose_answer';

export type S3Request = {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<IncomingMessage['headers']>;
  readonly behaviour: S3Behaviour;
};

export type TestS3 = {
  /** For SVC_BLOB_URL: a bucket that is there, with a prefix. */
  readonly url: string;
  /** The same for another prefix or bucket. */
  urlOf(prefix: string, bucket?: string): string;
  /** Of every request since the last `clear`, in the order in which they came. */
  readonly requests: readonly S3Request[];
  clear(): void;
  /** From now on. */
  behave(behave: (method: string, path: string) => S3Behaviour): void;
  /** Resolves with the next request that fits, when it has come and before it is answered. */
  seen(fits: (request: S3Request) => boolean): Promise<S3Request>;
  /** Objects below a prefix, put past the gate. */
  seed(prefix: string, keys: readonly string[], content: string | Buffer): Promise<void>;
  /** Ids of multipart uploads that are neither completed nor aborted. */
  openUploads(): Promise<string[]>;
  /** Begins an upload of an object below a prefix, now or earlier, as a process does that is killed then. */
  beginUpload(prefix: string, name: string, startedAt?: Date): Promise<void>;
  close(): Promise<void>;
};

const bucket = 'cold';
const key = 'S3RVER';
const removal = { recursive: true, force: true };

/** What stands behind the gate. */
type Backend = {
  /** Answers a request, whose body may have been changed on its way. */
  answer(incoming: IncomingMessage, body: Buffer, behaviour: S3Behaviour): Promise<Answer>;
  readonly environment: Readonly<Record<string, string>>;
  urlOf(prefix: string, endpoint: string, bucket: string | undefined): string;
} & Pick<TestS3, 'seed' | 'openUploads' | 'beginUpload' | 'close'>;

/**
 * A server of S3 with a gate before it that misbehaves when told to, and credentials for it in this process's
 * environment: s3rver with what it leaves out, or the real server that is given.
 */
export async function startS3(found?: FoundS3): Promise<TestS3> {
  const backend = found === undefined ? await startMock() : await startReal(found);
  const requests: S3Request[] = [];
  const watchers = new Set<(request: S3Request) => void>();
  let behave: (method: string, path: string) => S3Behaviour = () => 'pass';

  const gate = createServer((incoming, response) => {
    const { method = '', url: path = '', headers } = incoming;
    const seen = { method, path, headers, behaviour: behave(method, path) };
    requests.push(seen);
    for (const watcher of watchers) watcher(seen);
    handle(incoming, response, { behaviour: seen.behaviour, backend }).catch(() =>
      response.destroy(),
    );
  });
  await new Promise<void>((resolve) => gate.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(gate.address() as AddressInfo).port}`;
  const restore = setEnvironment(backend.environment);
  const urlOf = (prefix: string, name?: string) => backend.urlOf(prefix, endpoint, name);

  return {
    url: urlOf('segments/of us'),
    urlOf,
    requests,
    clear: () => void requests.splice(0),
    behave(next) {
      behave = next;
    },
    seen: (fits) =>
      new Promise((resolve) => {
        const watcher = (request: S3Request) => {
          if (!fits(request)) return;
          watchers.delete(watcher);
          resolve(request);
        };
        watchers.add(watcher);
      }),
    seed: backend.seed,
    openUploads: backend.openUploads,
    beginUpload: backend.beginUpload,
    async close() {
      restore();
      await closeServer(gate);
      await backend.close();
    },
  };
}

/** The real server judges all by itself: conditions, digests, signatures, uploads. */
async function startReal(found: FoundS3): Promise<Backend> {
  const real = await startRealS3(found);
  const { hostname, port } = new URL(real.endpoint ?? '');
  const { client, bucket: Bucket, own } = real;
  return {
    answer: (incoming, body) => forward(incoming, body, { hostname, port: Number(port) }),
    environment: real.environment,
    urlOf(prefix, endpoint, name) {
      const url = real.urlOf(prefix, endpoint);
      return name === undefined ? url : url.replace(`s3://${Bucket}/`, `s3://${name}/`);
    },
    async seed(prefix, keys, content) {
      const someAtOnce = createGate(16);
      await Promise.all(
        keys.map((name) => {
          const Key = `${own}/${prefix}/${name}`;
          const command = new PutObjectCommand({ Bucket, Key, Body: content });
          return someAtOnce.run(() => client.send(command));
        }),
      );
    },
    async openUploads() {
      const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket }));
      return Uploads.flatMap(({ Key, UploadId }) =>
        UploadId === undefined || Key?.startsWith(`${own}/`) !== true ? [] : [UploadId],
      );
    },
    async beginUpload(prefix, name) {
      const Key = `${own}/${prefix}/${name}`;
      await client.send(new CreateMultipartUploadCommand({ Bucket, Key }));
    },
    close: () => real.close(),
  };
}

/**
 * s3rver on a free port. It reads requests as S3 does: paths, headers, XML, pages of a list, multipart uploads. What it
 * leaves out is added here: bodies are compared with Content-MD5 and with the SHA-256 that the signature covers, an
 * object is shown only when it is whole, uploads are listed, three a page, the parts of an aborted one are removed, and
 * If-Match and If-None-Match of a PUT are kept. Nobody checks signatures (s3rver reckons those of lists wrongly) or
 * permissions, nor knows redirects to other regions, virtual-hosted buckets or TLS.
 */
async function startMock(): Promise<Backend> {
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

type S3rver = { readonly port: number; close(): Promise<void> };

/** A process of its own: the continuation tokens of its lists are DES, which Node has only when told so. */
async function startS3rver(directory: string): Promise<S3rver> {
  const options = {
    address: '127.0.0.1',
    port: 0,
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
  return {
    port,
    async close() {
      child.kill();
      await ended;
    },
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
const pauseMillis = 4000;
const lookMillis = 300;

async function handle(
  incoming: IncomingMessage,
  response: ServerResponse,
  { behaviour, backend }: { behaviour: S3Behaviour; backend: Backend },
): Promise<void> {
  const body = await buffer(incoming);
  if (behaviour === 'hang') return;
  if (behaviour === 'close') return void incoming.socket.destroy();
  if (behaviour === 'pass_range_over') delete incoming.headers.range;
  if (behaviour === 'flip_request' && body.length > 0) body.writeUInt8(body.readUInt8(0) ^ 1, 0);
  const answer =
    behaviour === 'fail'
      ? refusal(500, 'InternalError')
      : behaviour === 'slow_down'
        ? refusal(503, 'SlowDown')
        : behaviour === 'deny'
          ? refusal(403, 'AccessDenied')
          : await backend.answer(incoming, body, behaviour);
  if (behaviour === 'lose_answer') return void incoming.socket.destroy();
  response.writeHead(answer.status, answer.headers);
  const half = Math.floor(answer.body.length / 2);
  if (behaviour === 'half_answer') {
    response.write(answer.body.subarray(0, half), () => incoming.socket.destroy());
  } else if (behaviour === 'stall_answer') {
    response.write(answer.body.subarray(0, half));
  } else if (behaviour === 'pause_answer') {
    response.write(answer.body.subarray(0, half));
    setTimeout(() => response.end(answer.body.subarray(half)), pauseMillis);
  } else response.end(answer.body);
}

async function answerMock(
  incoming: IncomingMessage,
  body: Buffer,
  { mock, behaviour }: { mock: Mock; behaviour: S3Behaviour },
): Promise<Answer> {
  const { directory, oneAtATime, aborted, uploads, target } = mock;
  if (!fitsItsDigests(incoming, body)) return refusal(400, 'BadDigest');
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
  if (uploadId !== null && aborted.has(uploadId)) return refusal(404, 'NoSuchUpload');
  const kept = behaviour === 'lose_half' ? body.subarray(0, body.length / 2) : body;
  if (behaviour === 'look_then_write') {
    if (!(await keepsConditions(incoming, directory))) return refusal(412, 'PreconditionFailed');
    // Whoever comes meanwhile looks, too, before this one writes.
    await new Promise((resolve) => setTimeout(resolve, lookMillis));
  }
  const answer = await oneAtATime.run(async () => {
    const isFree =
      behaviour === 'unconditional' ||
      behaviour === 'look_then_write' ||
      (await keepsConditions(incoming, directory));
    return isFree ? forward(incoming, kept, target) : refusal(412, 'PreconditionFailed');
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

type Answer = { status: number; headers: IncomingMessage['headers']; body: Buffer };

type Target = { readonly hostname: string; readonly port: number };

function forward(incoming: IncomingMessage, body: Buffer, server: Target): Promise<Answer> {
  const { method, url: path } = incoming;
  const headers = { ...incoming.headers };
  if (headers['content-length'] !== undefined) headers['content-length'] = String(body.length);
  return new Promise((resolve, reject) => {
    const request = openRequest({ ...server, method, path, headers }, (answer) => {
      buffer(answer).then(
        (whole) =>
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: whole }),
        reject,
      );
    });
    request.once('error', reject);
    request.end(body);
  });
}

function refusal(status: number, code: string): Answer {
  const text = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>no</Message></Error>`;
  return { status, headers: { 'content-type': 'application/xml' }, body: Buffer.from(text) };
}

function setEnvironment(values: Record<string, string>): () => void {
  const before = Object.keys(values).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, values);
  return () => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
}

async function closeServer(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}
