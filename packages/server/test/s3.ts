import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import {
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { createGate } from '../src/kernel/gate.ts';
import { listen } from './listen.ts';
import { type FoundS3, startRealS3 } from './real-s3.mjs';
import {
  forward,
  type Refusal,
  refusal,
  type S3Backend,
  type S3Behaviour,
  type S3Request,
  type TestS3,
} from './s3-backend.ts';
import { startMock } from './s3-mock.ts';
import { use } from './use.ts';

export type { S3Behaviour, TestS3 } from './s3-backend.ts';

/** Such a server for all tests of a file, or one for each. */
export function useS3(when?: 'once' | 'each', found?: FoundS3): TestS3 {
  return use(
    () => startS3(found),
    (s3) => s3.close(),
    when,
  );
}

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
  const listening = await listen(gate);
  const endpoint = `http://127.0.0.1:${listening.port}`;
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
    server: backend.server,
    openUploads: backend.openUploads,
    beginUpload: backend.beginUpload,
    async close() {
      restore();
      await listening.close();
      await backend.close();
    },
  };
}

/** The real server judges all by itself: conditions, digests, signatures, uploads. */
async function startReal(found: FoundS3): Promise<S3Backend> {
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
    server: real.server,
    close: () => real.close(),
  };
}

async function handle(
  incoming: IncomingMessage,
  response: ServerResponse,
  { behaviour, backend }: { behaviour: S3Behaviour; backend: S3Backend },
): Promise<void> {
  const body = await buffer(incoming);
  if (behaviour === 'hang') return;
  if (behaviour === 'close') return void incoming.socket.destroy();
  if (behaviour === 'pass_range_over') delete incoming.headers.range;
  if (behaviour === 'flip_request' && body.length > 0) body.writeUInt8(body.readUInt8(0) ^ 1, 0);
  const refused = typeof behaviour === 'string' ? refusals[behaviour] : behaviour;
  const answer =
    refused === undefined ? await backend.answer(incoming, body, behaviour) : refusal(refused);
  if (behaviour === 'lose_answer') return void incoming.socket.destroy();
  response.writeHead(answer.status, answer.headers);
  const half = Math.floor(answer.body.length / 2);
  if (behaviour === 'half_answer') {
    response.write(answer.body.subarray(0, half), () => incoming.socket.destroy());
  } else if (behaviour === 'stall_answer') {
    response.write(answer.body.subarray(0, half));
  } else response.end(answer.body);
}

const refusals: Readonly<Record<string, Refusal>> = {
  fail: { status: 500, code: 'InternalError' },
  slow_down: { status: 503, code: 'SlowDown' },
  deny: { status: 403, code: 'AccessDenied' },
};

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
