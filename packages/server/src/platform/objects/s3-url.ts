import { AppError } from '../../kernel/errors.ts';

/** Where an S3 store is, as `SVC_BLOB_URL` says. */
export type S3Place = {
  readonly bucket: string;
  /** The folder in the bucket, without `/` at its ends; the empty string for the whole bucket. */
  readonly prefix: string;
  /** The URL of a compatible server; undefined for Amazon's own. */
  readonly endpoint: string | undefined;
  /** The region; undefined when the SDK is to find it in its environment. */
  readonly region: string | undefined;
  /** Whether a URL is `endpoint/bucket/key` instead of `bucket.endpoint/key`. */
  readonly pathStyle: boolean;
};

const known = ['endpoint', 'region', 'pathStyle'];

/** Reads `s3://bucket/prefix?endpoint=…&region=…&pathStyle=…`. Throws `settings_invalid`. */
export function parseS3Url(text: string): S3Place {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== 's3:') throw invalidBlobUrl('is not a URL that begins with s3://');
  // The message does not repeat the URL, because the credentials would end up in a log.
  if (url.username !== '' || url.password !== '') {
    throw invalidBlobUrl(
      'holds credentials: give them as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or in a profile',
    );
  }
  if (url.port !== '') throw invalidBlobUrl('has a port: it belongs into ?endpoint=');
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/.test(url.hostname)) {
    throw invalidBlobUrl(`names no bucket: ${JSON.stringify(url.hostname)} cannot be one`);
  }
  for (const name of url.searchParams.keys()) {
    if (!known.includes(name)) {
      throw invalidBlobUrl(`has the unknown parameter ${name}; there are ${known.join(', ')}`);
    }
  }
  const endpoint = readEndpoint(url.searchParams.get('endpoint'));
  const region = url.searchParams.get('region') ?? undefined;
  return {
    bucket: url.hostname,
    prefix: readPrefix(url.pathname),
    endpoint,
    // Compatible servers call their region `us-east-1` unless somebody gave it another name.
    region: region ?? (endpoint === undefined ? undefined : 'us-east-1'),
    pathStyle: readBoolean(url.searchParams.get('pathStyle')) ?? endpoint !== undefined,
  };
}

/** Makes the error for a wrong SVC_BLOB_URL. `fault` follows the words `SVC_BLOB_URL ` in the message. */
export function invalidBlobUrl(fault: string, cause?: unknown): AppError {
  return new AppError('settings_invalid', { detail: `SVC_BLOB_URL ${fault}`, cause });
}

function readPrefix(pathname: string): string {
  let prefix: string;
  try {
    prefix = decodeURIComponent(pathname).replace(/^\/+|\/+$/g, '');
  } catch (error) {
    throw invalidBlobUrl(`has a folder with wrong percent-encoding: ${pathname}`, error);
  }
  if (prefix.split('/').some((part) => part === '.' || part === '..')) {
    throw invalidBlobUrl(`has a folder with . or ..: ${pathname}`);
  }
  return prefix;
}

function readEndpoint(value: string | null): string | undefined {
  if (value === null) return undefined;
  const endpoint = URL.canParse(value) ? new URL(value) : null;
  if (endpoint === null || !['http:', 'https:'].includes(endpoint.protocol)) {
    throw invalidBlobUrl(
      `has an endpoint that does not begin with https:// or http://: ${JSON.stringify(value)}`,
    );
  }
  if (endpoint.username !== '' || endpoint.password !== '') {
    throw invalidBlobUrl(
      'has an endpoint with credentials: give them as AWS_ACCESS_KEY_ID and so on',
    );
  }
  return endpoint.href;
}

function readBoolean(value: string | null): boolean | undefined {
  if (value === null) return undefined;
  if (value !== 'true' && value !== 'false') {
    throw invalidBlobUrl(`has pathStyle=${value}: it is true or false`);
  }
  return value === 'true';
}
