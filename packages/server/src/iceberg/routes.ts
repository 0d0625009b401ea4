import type { FastifyRequest } from 'fastify';
import { AppError, errorCatalogue } from '../kernel/errors.ts';
import type { NoteRead } from '../platform/audit.ts';
import type { Dialect } from '../platform/http/problem.ts';
import type { HttpServer } from '../platform/http/server.ts';
import type { S3Place } from '../platform/objects/s3-url.ts';
import { icebergContract } from './contract.ts';
import { loadTable, type TableTools } from './load-table.ts';

/** Adds the catalogue that readers of Iceberg ask. */
export function addIcebergRoutes(
  http: HttpServer,
  { noteRead, ...tools }: TableTools & { noteRead: NoteRead },
): void {
  const namespace = ['svcctl'];
  http.speak(dialect);
  http.route(icebergContract.getIcebergConfig, async () => ({
    defaults: placeOf(tools.store.s3),
    overrides: {},
    endpoints,
  }));
  http.route(icebergContract.listIcebergNamespaces, async ({ query }) => ({
    namespaces: query.parent === undefined ? [namespace] : [],
  }));
  http.route(icebergContract.getIcebergNamespace, async () => ({ namespace, properties: {} }));
  http.route(icebergContract.listIcebergTables, async () => ({
    identifiers: [{ namespace, name: 'records' }],
  }));
  // What a reader then reads of the files that the table names is not seen here, so the load counts as reading them all.
  http.route(icebergContract.loadIcebergTable, ({ actor, request }) =>
    noteRead({ actor, request }, { by: 'table', tenants: actor.tenants ?? undefined }, () =>
      loadTable(tools, actor.tenants),
    ),
  );
}

/** What the specification calls the routes above. */
const endpoints = [
  'GET /v1/{prefix}/namespaces',
  'GET /v1/{prefix}/namespaces/{namespace}',
  'HEAD /v1/{prefix}/namespaces/{namespace}',
  'GET /v1/{prefix}/namespaces/{namespace}/tables',
  'GET /v1/{prefix}/namespaces/{namespace}/tables/{table}',
  'HEAD /v1/{prefix}/namespaces/{namespace}/tables/{table}',
];

/** Where the bucket is, which a reader may know otherwise: settings of its own come before these. */
function placeOf(s3: S3Place | undefined): Record<string, string> {
  return {
    ...(s3?.endpoint !== undefined && { 's3.endpoint': s3.endpoint }),
    ...(s3?.region !== undefined && { 's3.region': s3.region }),
    ...(s3?.pathStyle === true && { 's3.path-style-access': 'true' }),
  };
}

/** What readers of Iceberg expect: no more than this before the paths of their specification, and errors in its form. */
const dialect: Dialect = {
  path: '/iceberg/',
  members: (error, request) => ({ error: toIcebergError(error, request) }),
  missing: ({ method }) =>
    method === 'GET' || method === 'HEAD'
      ? undefined
      : new AppError('method_not_allowed', {
          detail: 'The table is only read. Records come by POST /api/v1/enrichment/records.',
        }),
};

/** The form of errors by the REST specification of Iceberg, whose types are names of exceptions in Java. */
function toIcebergError({ status, detail, code }: AppError, { url }: FastifyRequest) {
  const types: Readonly<Record<number, string>> = {
    401: 'NotAuthorizedException',
    403: 'ForbiddenException',
    404: url.includes('/tables/') ? 'NoSuchTableException' : 'NoSuchNamespaceException',
    405: 'UnsupportedOperationException',
    429: 'SlowDownException',
    503: 'ServiceUnavailableException',
  };
  const type = types[status] ?? (status < 500 ? 'BadRequestException' : 'ServiceFailureException');
  return { message: detail ?? errorCatalogue[code].title, type, code: status };
}
