import { relative } from 'node:path';
import { shellQuote } from './format.ts';
import type { Io } from './io.ts';

type StartedService = {
  readonly url: string;
  /** The address at which people reach the service. */
  readonly publicUrl: string;
  /** Where the first admin token lies; null where it was moved away, or the database came out of a backup. */
  readonly adminTokenPath: string | null;
  readonly isFirstStart: boolean;
  /** A link that signs in to the console once; null when none was made. */
  readonly signInLink: string | null;
  readonly roles: readonly string[];
  readonly dataDir: string;
};

/** Where every test runs. README.md has what is known of other platforms. */
const testedPlatform = 'linux x64 glibc';

/** Where the service is that was just started; for a person at a terminal also three commands that work. */
export function startText(io: Io, service: StartedService): string {
  if (io.platform === testedPlatform) return describeStart(io, service);
  return `${describeStart(io, service)}
Attention: this is ${io.platform}, and svcctl is tested on ${testedPlatform} alone. README.md says what is known of others.
`;
}

function describeStart(io: Io, service: StartedService): string {
  const { roles, dataDir } = service;
  const end = io.stdout.isTTY ? '\nCtrl-C stops it.\n' : '';
  if (!roles.includes('api')) {
    return `svcctl runs as ${roles.join(', ')}; health and metrics are at ${service.url}\n${end}`;
  }
  // When npm has started the service, svcctl is not in the PATH of the terminal.
  const svcctl = io.env.npm_lifecycle_event ? 'node_modules/.bin/svcctl' : 'svcctl';
  const isDefaultFolder = relative(io.cwd, dataDir) === 'data';
  const prefix = isDefaultFolder ? svcctl : `SVC_DATA_DIR=${shellQuote(dataDir)} ${svcctl}`;
  const token =
    service.adminTokenPath ??
    `one from before; without any: ${prefix} tokens create --local --name admin --preset admin`;
  const made = service.isFirstStart ? ' (made just now, for you alone to read)' : '';
  const now = new Date(io.now()).toISOString();
  const record = {
    tenant: 'demo',
    store: 'north',
    event_id: 'e-1',
    occurred_at: `${now.slice(0, 19)}Z`,
    kind: 'visit',
    enrichment: { score: 0.93 },
  };
  const console = service.signInLink ?? service.publicUrl;
  const how =
    service.signInLink === null
      ? 'sign in with the token below, or start with --print-sign-in'
      : 'signs you in, once, within an hour';
  const places = `svcctl runs at ${service.url}

  Console        ${console} (${how})
  API reference  ${service.publicUrl}/docs
  Admin token    ${token}${made}
`;
  if (!io.stdout.isTTY) return places;
  return `${places}
Try, in another terminal in this folder:

  echo '${JSON.stringify(record)}' | ${prefix} records ingest -
  ${prefix} records ls
  ${prefix} analytics export --tenant demo --month ${now.slice(0, 7)} --format csv --out demo.csv
${end}`;
}
