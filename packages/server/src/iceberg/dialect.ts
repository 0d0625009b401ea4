import type { FastifyRequest } from 'fastify';
import { AppError, errorCatalogue } from '../kernel/errors.ts';
import type { Dialect } from '../platform/http/problem.ts';

/** What readers of Iceberg expect: no more than this before the paths of their specification, and errors in its form. */
export const dialect: Dialect = {
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
