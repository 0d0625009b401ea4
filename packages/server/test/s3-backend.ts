import { type IncomingMessage, request as openRequest } from 'node:http';
import { buffer } from 'node:stream/consumers';

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
  | 'lose_answer'
  | Refusal;

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
  /** The process behind the gate; a server that somebody else runs cannot be touched. */
  readonly server: S3ServerProcess;
  close(): Promise<void>;
};

export type S3ServerProcess = {
  /** Stops it with SIGSTOP: it takes connections and says nothing. */
  freeze(): void;
  thaw(): void;
  /** Kills it with SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again after it was killed, on its files. */
  restart(): Promise<void>;
};

/** What stands behind the gate: a server of S3. */
export type S3Backend = {
  /** Answers a request, whose body may have been changed on its way. */
  answer(incoming: IncomingMessage, body: Buffer, behaviour: S3Behaviour): Promise<Answer>;
  readonly environment: Readonly<Record<string, string>>;
  urlOf(prefix: string, endpoint: string, bucket: string | undefined): string;
} & Pick<TestS3, 'server' | 'seed' | 'openUploads' | 'beginUpload' | 'close'>;

export type Answer = { status: number; headers: IncomingMessage['headers']; body: Buffer };

export type Target = { readonly hostname: string; readonly port: number };

/** Sends a request on to a server, with a body that may have been changed. */
export function forward(incoming: IncomingMessage, body: Buffer, server: Target): Promise<Answer> {
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

/** An error that S3 answers with; without a code it is that of a proxy. */
export type Refusal = {
  readonly status: number;
  readonly code?: string;
  readonly message?: string;
};

export function refusal({ status, code, message = 'no' }: Refusal): Answer {
  if (code === undefined) {
    const page = Buffer.from('<html><body><h1>no</h1></body></html>');
    return { status, headers: { 'content-type': 'text/html' }, body: page };
  }
  const text = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`;
  return { status, headers: { 'content-type': 'application/xml' }, body: Buffer.from(text) };
}
