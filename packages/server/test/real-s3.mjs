import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { accessSync, constants } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, delimiter, join } from 'node:path';
import {
  CreateBucketCommand,
  DeleteObjectsCommand,
  HeadBucketCommand,
  ListObjectsV2Command,
  S3Client,
} from '@aws-sdk/client-s3';

// This is plain JavaScript, because the benches use it, too.

const region = 'us-east-1';
const readyMillis = 60_000;

/**
 * How each server is started that is known here: its arguments and environment. `dir` is an empty folder, and ports
 * and credentials are given.
 */
const servers = {
  versitygw: {
    args: ({ dir, ports: [port], id, secret }) => [
      ...['--access', id, '--secret', secret, '--region', region],
      ...['--port', `127.0.0.1:${port}`, '--quiet', 'posix', dir],
    ],
  },
  minio: {
    args: ({ dir, ports: [port, console] }) => [
      ...['server', '--quiet', '--address', `127.0.0.1:${port}`],
      ...['--console-address', `127.0.0.1:${console}`, dir],
    ],
    environment: ({ id, secret }) => ({
      MINIO_ROOT_USER: id,
      MINIO_ROOT_PASSWORD: secret,
      MINIO_BROWSER: 'off',
      MINIO_UPDATE: 'off',
    }),
  },
  weed: {
    args: ({ dir, ports, config }) => [
      ...['server', '-s3', `-s3.config=${config}`, `-dir=${dir}`, '-ip=127.0.0.1'],
      ...['-ip.bind=127.0.0.1', '-volume.max=100', '-master.volumeSizeLimitMB=64'],
      ...weedPorts.map((name, n) => `-${name}=${ports[n]}`),
    ],
  },
};

const weedPorts = [
  's3.port',
  's3.port.grpc',
  's3.port.iceberg',
  'master.port',
  'master.port.grpc',
  'volume.port',
  'volume.port.grpc',
  'filer.port',
  'filer.port.grpc',
];

/**
 * Finds a real S3 server: the one that SVC_TEST_S3 names, as a URL with credentials or as the path of a binary, or else
 * the first of versitygw, minio and weed (SeaweedFS) on the PATH. Returns null when there is none.
 *
 * @returns {{ name: string, url?: URL, binary?: string } | null}
 */
export function findRealS3(environment = process.env) {
  const { SVC_TEST_S3: named = '', PATH = '' } = environment;
  if (named.startsWith('s3://')) {
    const url = new URL(named);
    return { name: url.searchParams.get('endpoint') ?? 'Amazon S3', url };
  }
  if (named !== '') {
    const name = basename(named).replace(/\.exe$/, '');
    if (!Object.hasOwn(servers, name) || !isProgram(named)) {
      throw new Error(
        `SVC_TEST_S3 is ${named}: neither s3://KEY:SECRET@bucket/prefix?endpoint=… nor the path of ${Object.keys(servers).join(', ')}`,
      );
    }
    return { name, binary: named };
  }
  for (const name of Object.keys(servers)) {
    const binary = PATH.split(delimiter)
      .map((dir) => join(dir, name))
      .find(isProgram);
    if (binary !== undefined) return { name, binary };
  }
  return null;
}

/** Whether a file is there that may be run. */
export function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** What is said where there is no real server. */
export const noRealS3 =
  'no S3 server is here: SVC_TEST_S3 is unset, and versitygw, minio and weed are not on the PATH';

/**
 * Starts a server that `findRealS3` found, in a folder of its own and on ports of its own, or goes to the one that is
 * running. Everything lies below a prefix of its own, and goes when it is closed.
 *
 * @param {{ name: string, url?: URL, binary?: string }} found
 */
export async function startRealS3(found) {
  const server =
    found.url === undefined ? await startServer(found.name, found.binary) : reach(found.url);
  const { endpoint, bucket, credentials, own } = server;
  const client = new S3Client({
    ...(endpoint === null ? {} : { endpoint, forcePathStyle: true }),
    region: server.region,
    credentials,
    maxAttempts: 1,
  });
  const close = async () => {
    if (found.url !== undefined) await removeAll(client, bucket, own);
    client.destroy();
    await server.close();
  };
  const ready = () => untilReady(client, bucket, { ...server, isOurs: found.url === undefined });
  try {
    await ready();
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
  return {
    name: found.name,
    server: {
      freeze: () => server.process.freeze(),
      thaw: () => server.process.thaw(),
      kill: () => server.process.kill(),
      async restart() {
        server.process.start();
        await ready();
      },
    },
    endpoint,
    bucket,
    /** The folder of this run in the bucket. */
    own,
    region: server.region,
    client,
    /** What the service needs in its environment. */
    environment: {
      AWS_ACCESS_KEY_ID: credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
      AWS_EC2_METADATA_DISABLED: 'true',
    },
    /** For SVC_BLOB_URL; `through` is another address at which the server is reached. */
    urlOf(prefix, through = endpoint) {
      const query = new URLSearchParams({ region: server.region });
      if (through !== null) query.set('endpoint', through);
      return `s3://${bucket}/${own}/${encodeURI(prefix)}?${query}`;
    },
    /** All keys that begin so. */
    list: (prefix) => listKeys(client, bucket, prefix),
    close,
  };
}

function reach(url) {
  if (url.username === '' || url.password === '') {
    throw new Error('SVC_TEST_S3 has no credentials: s3://KEY:SECRET@bucket/prefix?endpoint=…');
  }
  const prefix = url.pathname.replace(/^\/+|\/+$/g, '');
  const run = `svcctl-test-${randomBytes(6).toString('hex')}`;
  return {
    endpoint: url.searchParams.get('endpoint'),
    region: url.searchParams.get('region') ?? region,
    bucket: url.hostname,
    own: prefix === '' ? run : `${decodeURIComponent(prefix)}/${run}`,
    credentials: {
      accessKeyId: decodeURIComponent(url.username),
      secretAccessKey: decodeURIComponent(url.password),
    },
    output: () => '',
    hasExited: () => false,
    process: { freeze: notOurs, thaw: notOurs, kill: notOurs, start: notOurs },
    close: async () => {},
  };
}

function notOurs() {
  throw new Error('the server of SVC_TEST_S3 is not ours to stop');
}

async function startServer(name, binary) {
  const root = await mkdtemp(join(tmpdir(), `svcctl-${name}-`));
  const [id, secret] = [randomBytes(10).toString('hex'), randomBytes(20).toString('hex')];
  const dir = join(root, 'data');
  const config = join(root, 'config.json');
  await mkdir(dir);
  const identity = { name: 'test', credentials: [{ accessKey: id, secretKey: secret }] };
  const rights = ['Admin', 'Read', 'Write', 'List', 'Tagging'];
  await writeFile(config, JSON.stringify({ identities: [{ ...identity, actions: rights }] }));
  const ports = await freePorts(weedPorts.length);
  const given = { dir, config, ports, id, secret };
  const { args, environment } = servers[name];
  let output = '';
  const run = () => {
    const child = spawn(binary, args(given), {
      cwd: root,
      env: { ...process.env, ...environment?.(given) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output = (output + text).slice(-8192);
      });
    }
    const exited = new Promise((resolve) => {
      child.once('exit', resolve);
      child.once('error', resolve);
    });
    return { child, exited };
  };
  let running = run();
  const signal = (name) => running.child.kill(name);
  const killAtExit = () => signal('SIGKILL');
  process.once('exit', killAtExit);
  const kill = async () => {
    signal('SIGKILL');
    await running.exited;
  };
  return {
    endpoint: `http://127.0.0.1:${ports[0]}`,
    region,
    bucket: 'cold',
    own: 'test',
    credentials: { accessKeyId: id, secretAccessKey: secret },
    output: () => output,
    hasExited: () => running.child.exitCode !== null || running.child.signalCode !== null,
    process: {
      freeze: () => void signal('SIGSTOP'),
      thaw: () => void signal('SIGCONT'),
      kill,
      start: () => {
        running = run();
      },
    },
    async close() {
      // What it holds is thrown away, so it need not end in order.
      await kill();
      process.off('exit', killAtExit);
      await rm(root, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

/** Finds ports that are free at this moment, for servers that cannot take one from the system and tell which. */
export async function freePorts(count) {
  const listeners = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise((resolve, reject) => {
          const listener = createServer();
          listener.once('error', reject);
          listener.listen(0, '127.0.0.1', () => resolve(listener));
        }),
    ),
  );
  const ports = listeners.map((listener) => listener.address().port);
  await Promise.all(listeners.map((listener) => new Promise((resolve) => listener.close(resolve))));
  return ports;
}

/** Waits until the server answers for its bucket, which is made unless it is somebody else's. */
async function untilReady(client, bucket, { output, hasExited, isOurs }) {
  const deadline = performance.now() + readyMillis;
  for (;;) {
    try {
      if (isOurs) await client.send(new CreateBucketCommand({ Bucket: bucket })).catch(() => {});
      await client.send(new HeadBucketCommand({ Bucket: bucket }));
      return;
    } catch (cause) {
      if (performance.now() > deadline || hasExited()) {
        throw new Error(`the S3 server does not answer for its bucket; it said:\n${output()}`, {
          cause,
        });
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

async function removeAll(client, Bucket, own) {
  const keys = await listKeys(client, Bucket, `${own}/`);
  // As many as one request may name.
  for (let at = 0; at < keys.length; at += 1000) {
    const Objects = keys.slice(at, at + 1000).map((Key) => ({ Key }));
    await client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }));
  }
}

async function listKeys(client, Bucket, Prefix) {
  const keys = [];
  let ContinuationToken;
  do {
    const page = await client.send(new ListObjectsV2Command({ Bucket, Prefix, ContinuationToken }));
    keys.push(...(page.Contents ?? []).map(({ Key }) => Key));
    ContinuationToken = page.NextContinuationToken;
  } while (ContinuationToken !== undefined);
  return keys;
}
