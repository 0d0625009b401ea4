import { AppError } from '../../kernel/errors.ts';
import type { Row } from './kinds.ts';

/** Endpoints of another service as rows of ours, and what cannot be taken over of them. */
export type Foreign = { readonly rows: readonly Row[]; readonly notes: readonly string[] };

/** So many seconds an attempt may take here. */
const longest = 120;

type Given = Readonly<Record<string, unknown>>;

/** How the lists of other services are read: what holds the endpoints, and one of them. */
export const foreign: Readonly<
  Record<string, { readonly listOf: (file: Given) => unknown; readonly read: (one: Given) => Read }>
> = {
  // GET /api/v1/app/{app_id}/endpoint, and of each GET …/secret, of which the key is put into it as `secret`.
  svix: { listOf: (file) => file.data, read: readSvix },
  // GET /api/v1/projects/{id}/endpoints
  convoy: {
    listOf: (file) => (file.data as Given | undefined)?.content ?? file.content,
    read: readConvoy,
  },
};

type Read = { readonly row: Row; readonly notes: readonly string[] };

function readSvix(one: Given): Read {
  const { uid, id, url, description, disabled, filterTypes, metadata } = one;
  const secret = typeof one.secret === 'object' ? (one.secret as Given | null)?.key : one.secret;
  const isOurs = typeof secret === 'string' && /^whsec_/.test(secret);
  return {
    row: {
      uid: uid ?? id,
      url,
      labels: metadata,
      description: description === '' ? undefined : description,
      event_types: Array.isArray(filterTypes) ? filterTypes : undefined,
      rate_limit: one.throttleRate ?? one.rateLimit ?? undefined,
      enabled: disabled === true ? false : undefined,
      secret: isOurs ? secret : undefined,
    },
    notes: [
      ...(isOurs ? [] : ['no secret that begins with whsec_ comes with it: it gets a new one']),
      ...(Array.isArray(one.channels) ? ['channels are not taken over'] : []),
    ],
  };
}

function readConvoy(one: Given): Read {
  const { uid, url, target_url: target, name, title, description, status } = one;
  const secrets = (one.secrets ?? []) as readonly Given[];
  const value = secrets.filter(
    ({ expires_at: at }) => typeof at !== 'string' || at.startsWith('0001'),
  );
  const secret = secretOf(value.at(-1)?.value);
  const { type = '', api_key: key } = (one.authentication ?? {}) as Given & {
    api_key?: Given | null;
  };
  const limit = secondsOf(one.http_timeout);
  const hasKey = key?.header_name !== undefined && key.header_name !== '';
  return {
    row: {
      uid,
      url: url ?? target,
      name: name ?? title,
      description: description === '' ? undefined : description,
      rate_limit: rateOf(Number(one.rate_limit), Number(one.rate_limit_duration)),
      delivery: limit === undefined ? undefined : { timeout_seconds: Math.min(limit, longest) },
      headers: hasKey ? { [String(key.header_name)]: String(key.header_value) } : undefined,
      enabled: status === 'inactive' || status === 'paused' ? false : undefined,
      secret,
    },
    notes: [
      ...(secret === undefined
        ? ['no secret of 24 to 64 bytes comes with it: it gets a new one']
        : []),
      ...(hasKey || type === '' ? [] : [`its authentication (${String(type)}) is not taken over`]),
      ...(limit !== undefined && limit > longest
        ? [`its time limit of ${limit} s becomes ${longest} s`]
        : []),
      'its subscriptions are not in the list: it gets all types',
    ],
  };
}

/** The same key, as Standard Webhooks write it. */
function secretOf(value: unknown): string | undefined {
  const bytes = Buffer.from(typeof value === 'string' ? value : '');
  if (bytes.length < 24 || bytes.length > 64) return undefined;
  return `whsec_${bytes.toString('base64')}`;
}

/** A number of seconds, or such as Go writes them: `1h0m0s`. Undefined where it is none, or 0: the default of the service. */
function secondsOf(given: unknown): number | undefined {
  const [, hours = 0, minutes = 0, seconds = 0] =
    /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s?)?$/.exec(String(given)) ?? [];
  return Math.ceil((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) || undefined;
}

/** So many in so many seconds, as whole ones a second. */
function rateOf(count: number, seconds: number): number | undefined {
  return count > 0 ? Math.max(1, Math.floor(count / (seconds > 0 ? seconds : 1))) : undefined;
}

/** Reads the endpoints of a file for a tenant. Throws `usage_invalid` when the file holds no such list. */
export function readForeign(
  from: string,
  { file, tenant }: { file: unknown; tenant: string },
): Foreign {
  const { listOf, read } = foreign[from] ?? {};
  const answer = (file ?? {}) as { done?: unknown; data?: { pagination?: Given } | null };
  const list = Array.isArray(file) ? file : listOf?.(answer);
  if (!Array.isArray(list) || read === undefined) {
    throw new AppError('usage_invalid', {
      detail: `The file is no list of endpoints as ${from} answers it: docs/as-code.md shows one.`,
    });
  }
  const all = list.map((one: Given) => ({ one, ...read(one) }));
  return {
    rows: all.map(({ row }) => {
      const given = Object.entries(row).filter(([, value]) => value !== undefined);
      return { tenant, ...Object.fromEntries(given) };
    }),
    notes: [
      ...all.flatMap(({ row, notes }) => notes.map((note) => `${String(row.uid)}: ${note}`)),
      ...(answer.done === false || answer.data?.pagination?.has_next_page === true
        ? ['the list has further pages, which are to be imported, too']
        : []),
    ],
  };
}
