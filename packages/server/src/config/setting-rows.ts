import { historyRows } from './history-rows.ts';
import { peopleRows } from './people-rows.ts';
import {
  bytes,
  cidrList,
  integer,
  oneOf,
  origin,
  origins,
  places,
  postgresUrl,
  type SettingRow,
  subset,
  text,
  url,
} from './types.ts';
import { noticeRows, webhookRows } from './webhook-rows.ts';

/** What a process can be told to do with `SVC_ROLES`; one process may have several roles. */
export const roles = ['api', 'drainer', 'retention', 'exports'] as const;
export type Role = (typeof roles)[number];

const kiB = 1024;
const miB = 1024 * kiB;
const giB = 1024 * miB;

/** A setting with what docs/configuration.md says of it. */
export type DescribedRow = SettingRow<unknown> & {
  readonly help: string;
  /**
   * The roles that heed it, where all processes of one database should agree on it: two that do not would do the same
   * work in two ways, whichever comes first. None of these is secret.
   */
  readonly sharedBy?: readonly Role[];
};

/**
 * One row for each setting, in the groups of docs/configuration.md. The loader, the masked print of `svcctl config` and
 * that page are all made from these rows. A setting without a default is undefined unless it is given.
 */
export const settingGroups = {
  address: {
    title: 'Where it listens',
    rows: {
      host: {
        ...text('SVC_HOST', '127.0.0.1'),
        help: 'Address to listen on; localhost is 127.0.0.1.',
      },
      port: {
        ...integer('SVC_PORT', 8080, 0, 65_535),
        help: 'Port to listen on; 0 takes a free one.',
      },
      publicUrl: {
        ...origin('SVC_PUBLIC_URL'),
        help: 'Origin at which browsers reach the service behind a proxy, such as https://svcctl.example: for links and the console’s cookie; unset = where it listens.',
        sharedBy: ['api'],
      },
      portalOrigins: {
        ...origins('SVC_PORTAL_ORIGINS'),
        help: 'Origins whose pages may have the portal in a frame, separated by commas (docs/portal.md): browsers need https for both.',
        sharedBy: ['api'],
      },
      trustedProxies: {
        ...cidrList('SVC_TRUSTED_PROXIES'),
        help: 'Networks of the proxies before the service, as CIDRs separated by commas: their X-Forwarded-For and X-Forwarded-Proto count, and nobody else’s.',
      },
      metricsPort: {
        ...integer('SVC_METRICS_PORT', 0, 0, 65_535),
        help: 'Port of their own for the metrics, where they need no token; unset = only /metrics on SVC_PORT, which needs one.',
        default: undefined,
      },
      metricsHost: {
        ...text('SVC_METRICS_HOST', '127.0.0.1'),
        help: 'Address of that port to listen on.',
      },
    },
  },
  data: {
    title: 'Where its data lies',
    rows: {
      dataDir: {
        ...text('SVC_DATA_DIR', './data'),
        help: 'Folder of the embedded PostgreSQL, the admin token and spool files.',
      },
      databaseUrl: {
        ...postgresUrl('DATABASE_URL'),
        help: 'PostgreSQL 15 to 18 to use; unset = a PostgreSQL 18 of our own under the data folder.',
      },
      databaseConnections: {
        ...integer('SVC_DATABASE_CONNECTIONS', 24, 4, 1000),
        help: 'Connections of one process to the database, at most.',
      },
      blobUrl: {
        ...url('SVC_BLOB_URL', ['file', 's3']),
        help: 'Where cold data lies: file:///folder or s3://bucket/prefix?endpoint=…&region=…; unset = the data folder.',
        sharedBy: ['api', 'retention', 'exports'],
      },
      store: {
        ...oneOf('SVC_STORE', ['read-write', 'read-only'], 'read-write'),
        help: 'Whether this process may change cold data. read-only: it moves, merges, deletes and removes nothing there, makes no files of exports and never takes the store from another database.',
      },
      coldCacheBytes: {
        ...bytes('SVC_COLD_CACHE_BYTES', 2 * giB, 1 * miB, 1024 * giB),
        help: 'Local copies of objects of an S3 store, or of pieces of them, at most. What is being read may go beyond.',
      },
      secretKey: {
        ...text('SVC_SECRET_KEY', undefined),
        help: 'Key that webhook secrets are encrypted with and the audit log is sealed with, 32 characters or more; unset = made in the data folder.',
        secret: true,
      },
      secretKeyPrevious: {
        ...text('SVC_SECRET_KEY_PREVIOUS', undefined),
        help: 'The key before SVC_SECRET_KEY, while keys are rotated: it only decrypts.',
        secret: true,
      },
      backupKeys: {
        ...text('SVC_BACKUP_KEYS', undefined),
        help: 'Where the keys of tenants in backups lie: a folder, or s3://bucket/prefix?endpoint=…&region=…, but not where backups lie; unset = backups are not encrypted by tenant.',
        sharedBy: ['api', 'retention'],
      },
      backupPassphrase: {
        ...text('SVC_BACKUP_PASSPHRASE', undefined),
        help: 'Passphrase under which svcctl backup --with-key encrypts the secret key, and with which svcctl restore opens it; unset = asked at the terminal.',
        secret: true,
      },
    },
  },
  process: {
    title: 'What a process does, and how it stops',
    rows: {
      roles: {
        ...subset('SVC_ROLES', roles),
        help: 'What this process does, separated by commas.',
      },
      shutdownSeconds: {
        ...integer('SVC_SHUTDOWN_SECONDS', 20, 1, 3600),
        help: 'Seconds in which the service ends at SIGTERM; what still runs after two thirds of them is cut, webhooks after three quarters.',
      },
      shutdownLeadSeconds: {
        ...integer('SVC_SHUTDOWN_LEAD_SECONDS', 0, 0, 3600),
        help: 'Seconds before them in which a process with the role api still serves, while /readyz says 503 and each answer closes its connection: longer than a load balancer takes to notice. A second SIGTERM ends them.',
      },
      logLevel: {
        ...oneOf('SVC_LOG_LEVEL', ['trace', 'debug', 'info', 'warn', 'error', 'silent'], 'info'),
        help: 'Least level of what is logged, as JSON lines on stderr.',
      },
      slowStatementMillis: {
        ...integer('SVC_SLOW_STATEMENT_MILLIS', 1000, 0, 3_600_000),
        help: 'Statements of the database that take so many milliseconds are remembered, for svcctl doctor; 0 = none.',
      },
      otlpEndpoint: {
        ...url('OTEL_EXPORTER_OTLP_ENDPOINT', ['http', 'https']),
        help: 'Collector of OpenTelemetry to which traces are sent, as http://127.0.0.1:4318; unset = no traces. The other variables of its specification are heeded, too.',
      },
      metricsCacheSeconds: {
        ...integer('SVC_METRICS_CACHE_SECONDS', 5, 0, 300),
        help: 'Seconds for which metrics that were read from the database are told again.',
      },
    },
  },
  people: { title: 'Who signs in', rows: peopleRows },
  callers: {
    title: 'What callers may take',
    rows: {
      rateLimit: {
        ...integer('SVC_RATE_LIMIT', 6000, 0, 1_000_000),
        help: 'Requests a minute and token; 0 = no limit.',
        sharedBy: ['api'],
      },
      tenantRateLimit: {
        ...integer('SVC_TENANT_RATE_LIMIT', 24_000, 0, 1_000_000),
        help: 'Requests a minute of all tokens together that are limited to the same tenants; 0 = no limit.',
        sharedBy: ['api'],
      },
      requests: {
        ...integer('SVC_REQUESTS', 512, 1, 100_000),
        help: 'Requests with a token that one process works on at once; beyond, 503. Health is still answered.',
      },
      requestsPerCaller: {
        ...integer('SVC_REQUESTS_PER_CALLER', 256, 1, 100_000),
        help: 'Of them, of one token, or of all tokens that are limited to the same tenants; beyond, 429.',
      },
      connections: {
        ...integer('SVC_CONNECTIONS', 2048, 8, 100_000),
        help: 'Connections that one process holds at once; beyond, those without a token are closed, the idle first.',
      },
      connectionsPerAddress: {
        ...integer('SVC_CONNECTIONS_PER_ADDRESS', 512, 1, 100_000),
        help: 'Of them, from one address; this machine and trusted proxies may have all.',
      },
      bodySeconds: {
        ...integer('SVC_BODY_SECONDS', 20, 1, 3600),
        help: 'Seconds that the body of a request may take, and one more for each KiB of it; a stream of records only has to go on.',
      },
    },
  },
  ingest: {
    title: 'Storing records',
    rows: {
      ingestMaxRecords: {
        ...integer('SVC_INGEST_MAX_RECORDS', 10_000, 1, 100_000),
        help: 'Records of one JSON batch, at most; also the size of a committed part of an NDJSON stream.',
        sharedBy: ['api'],
      },
      ingestMaxBytes: {
        ...bytes('SVC_INGEST_MAX_BYTES', 32 * miB, miB, giB),
        help: 'One JSON batch, at most.',
        sharedBy: ['api'],
      },
      ingestInFlightBytes: {
        ...bytes('SVC_INGEST_IN_FLIGHT_BYTES', 256 * miB, miB, 64 * giB),
        help: 'Bytes being ingested by one process at once; beyond, 429.',
      },
      ingestInFlightBytesPerCaller: {
        ...bytes('SVC_INGEST_IN_FLIGHT_BYTES_PER_CALLER', 192 * miB, miB, 64 * giB),
        help: 'Of them, of one token, or of all tokens that are limited to the same tenants; beyond, 429.',
      },
      enrichmentMaxBytes: {
        ...bytes('SVC_ENRICHMENT_MAX_BYTES', 256 * kiB, kiB, 16 * miB),
        help: 'One enrichment, at most.',
        sharedBy: ['api'],
      },
    },
  },
  retention: {
    title: 'Cold data',
    rows: {
      retentionSchedule: {
        ...text('SVC_RETENTION_SCHEDULE', '17 3 * * *'),
        help: 'When retention runs by itself: five fields of cron, in UTC; off = never.',
        sharedBy: ['retention'],
      },
      verifyDays: {
        ...integer('SVC_VERIFY_DAYS', 30, 0, 3650),
        help: 'Days in which all cold data is verified once, a part with each scheduled run: what was not found right for so long; 0 = only on request.',
        sharedBy: ['retention'],
      },
      coldGraceSeconds: {
        ...integer('SVC_COLD_GRACE_SECONDS', 86_400, 0, 3_024_000),
        help: 'Seconds that an object stays after nothing refers to it any more, for those who still read it, and for a database that is set back by its WAL: so far back it finds its objects. At most 35 days.',
        sharedBy: ['api', 'retention'],
      },
    },
  },
  exports: {
    title: 'Exports',
    rows: {
      exportRoots: {
        ...places('SVC_EXPORT_ROOTS'),
        help: 'Where schedules may deliver beside Amazon S3: folders, and servers of S3 as https://host:port.',
        sharedBy: ['api', 'exports'],
      },
      exportDays: {
        ...integer('SVC_EXPORT_DAYS', 7, 1, 3650),
        help: 'Days that the file of a finished export job is kept.',
        sharedBy: ['exports'],
      },
      exportTellRows: {
        ...integer('SVC_EXPORT_TELL_ROWS', 0, 0, Number.MAX_SAFE_INTEGER),
        help: 'Records that one token, or one person, may export, download or have delivered by schedules within 24 hours before somebody is told; 0 = nobody is.',
        sharedBy: ['api'],
      },
      exportJobs: {
        ...integer('SVC_EXPORT_JOBS', 2, 1, 100),
        help: 'Export jobs that one process with the role exports works on at once.',
      },
      exportJobsPerTenant: {
        ...integer('SVC_EXPORT_JOBS_PER_TENANT', 2, 1, 100),
        help: 'Export jobs of one tenant that run at once, over all processes; more wait.',
        sharedBy: ['exports'],
      },
      exportMaxConcurrent: {
        ...integer('SVC_EXPORT_MAX_CONCURRENT', 8, 1, 100),
        help: 'Exports that one process streams at once, and never more than half its connections; beyond, 429.',
      },
      exportMaxPerCaller: {
        ...integer('SVC_EXPORT_MAX_PER_CALLER', 6, 1, 100),
        help: 'Of them, of one token, or of all tokens that are limited to the same tenants; beyond, 429.',
      },
      exportSpillBytes: {
        ...bytes('SVC_EXPORT_SPILL_BYTES', 2 * giB, miB, 1024 * giB),
        help: 'Temporary file of one export whose reader is slow, at most.',
      },
      exportStallSeconds: {
        ...integer('SVC_EXPORT_STALL_SECONDS', 60, 1, 3600),
        help: 'Seconds without progress after which an export is reset.',
      },
    },
  },
  webhooks: { title: 'Webhooks', rows: webhookRows },
  history: { title: 'How long history stays', rows: historyRows },
  notices: { title: 'Notices', rows: noticeRows },
} as const satisfies Record<string, { title: string; rows: Record<string, DescribedRow> }>;

/** All rows of all groups, by the names that `Settings` has for them. */
export const settingRows = {
  ...settingGroups.address.rows,
  ...settingGroups.data.rows,
  ...settingGroups.process.rows,
  ...settingGroups.people.rows,
  ...settingGroups.callers.rows,
  ...settingGroups.ingest.rows,
  ...settingGroups.retention.rows,
  ...settingGroups.exports.rows,
  ...settingGroups.webhooks.rows,
  ...settingGroups.history.rows,
  ...settingGroups.notices.rows,
};

/** What most installations set, if they set anything. */
export const firstSettings = [
  'host',
  'port',
  'publicUrl',
  'dataDir',
  'databaseUrl',
  'blobUrl',
] as const satisfies readonly (keyof typeof settingRows)[];
